"""Shares between 0 and 1 with their intervals: as plain data, as per cent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mate_cli.metrics.statistics import Interval


def interval_record(interval: Interval) -> dict[str, float]:
    """``mean``, ``low`` and ``high``."""
    return asdict(interval)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def percent_interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def lead_text(lead: Mapping[str, Any]) -> str:
    """A difference from the baseline ``over`` in words; ``mean``, ``low`` and ``high`` are the difference's."""
    side = "above" if lead["mean"] >= 0 else "below"
    interval = percent_interval(lead["low"], lead["high"])
    return f"{percent(abs(lead['mean']))} points {side} {lead['over']} (difference {interval})"
