"""Shares between 0 and 1 with their intervals: as plain data, as per cent."""

from __future__ import annotations

from dataclasses import asdict

from mate_cli.metrics.statistics import Interval


def interval_record(interval: Interval) -> dict[str, float]:
    """``mean``, ``low`` and ``high``."""
    return asdict(interval)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def percent_interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"
