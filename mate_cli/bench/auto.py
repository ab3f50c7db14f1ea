"""How near ``auto`` comes to the fastest backend: a model beside the same model with one backend after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mate_cli.bench.findings import point_of
from mate_cli.bench.measure import Record
from mate_cli.bench.point import Point
from mate_cli.bench.speed import paired_ratio

MEAN_GOAL, WORST_GOAL = 1.02, 1.10


class Choice(NamedTuple):
    """
    Attributes:
        taken: the backend that ``auto`` took.
        fastest: the backend with the smallest median time.
        ratio: time of ``auto`` over that of the fastest, within each round; their median.
        noise: the same over the backend that it took itself: what the clock alone makes of equal work. 1 if that one
            was not measured.
    """

    point: Point
    model: str
    taken: str
    fastest: str
    ratio: float
    noise: float


def choices(records: Iterable[Record]) -> list[Choice]:
    """Return the choice at every point where a model and at least two of its backends were timed."""
    groups: dict[tuple[Point, str], dict[str, Record]] = {}
    for record in records:
        model, _, backend = record["model"].partition("@")
        if record.get("samples"):
            groups.setdefault((point_of(record), model), {})[backend] = record
    return [choice for (point, model), group in groups.items() if (choice := _choice(point, model, group))]


def _choice(point: Point, model: str, group: dict[str, Record]) -> Choice | None:
    auto = group.pop("", None)
    if auto is None or len(group) < 2:
        return None
    fastest = min(group, key=lambda name: group[name]["seconds"]["median"])
    taken = auto["backend"]
    noise = _ratio(auto, group[taken]) if taken in group else 1.0
    return Choice(point, model, taken, fastest, _ratio(auto, group[fastest]), noise)


def _ratio(record: Record, other: Record) -> float:
    return float(paired_ratio(record["samples"], other["samples"])["median"])


def summary(records: Iterable[Record]) -> dict[str, Any] | None:
    """Return mean and worst ratio, and both of the noise, as plain data; None if no model has several backends."""
    found = choices(records)
    if not found:
        return None
    worst = max(found, key=lambda choice: choice.ratio)
    ratios, noise = ([getattr(choice, name) for choice in found] for name in ("ratio", "noise"))
    return {
        "points": len(found),
        "mean": float(np.mean(ratios)),
        "worst": worst.ratio,
        "worst_at": str(worst.point),
        "noise_mean": float(np.mean(noise)),
        "noise_worst": max(noise),
        "fastest_taken": sum(choice.taken == choice.fastest for choice in found),
        "state": "met" if np.mean(ratios) <= MEAN_GOAL and worst.ratio <= WORST_GOAL else "not met",
    }
