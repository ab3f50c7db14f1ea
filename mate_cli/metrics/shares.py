"""Shares between 0 and 1 as text, in per cent, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def percent_interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def share_text(share: Mapping[str, float]) -> str:
    """A share with its interval; ``share`` is an ``Interval`` as plain data."""
    return f"{percent(share['mean'])} (95% interval {percent_interval(share['low'], share['high'])})"


def lead_text(lead: Mapping[str, Any]) -> str:
    """A difference from the baseline ``over`` in words; ``mean``, ``low`` and ``high`` are of the difference."""
    side = "above" if lead["mean"] >= 0 else "below"
    interval = percent_interval(lead["low"], lead["high"])
    return f"{percent(abs(lead['mean']))} points {side} {lead['over']} (difference {interval})"
