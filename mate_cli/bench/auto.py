"""How near ``auto`` comes to the fastest backend: a model beside the same model with one backend after the other."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mate_cli.attention.backends import PatternPlanner
from mate_cli.bench.contenders import Model, contender
from mate_cli.bench.findings import point_of
from mate_cli.bench.measure import Record
from mate_cli.bench.point import Point, documents, packed
from mate_cli.bench.speed import paired_ratio

MEAN_GOAL, WORST_GOAL = 1.02, 1.10


class Choice(NamedTuple):
    """
    Attributes:
        taken: the backend that the rule takes.
        fastest: the backend with the smallest median time.
        ratio: time of what the rule takes over that of the fastest, within each round; their median.
    """

    point: Point
    taken: str
    fastest: str
    ratio: float


Group = Mapping[str, Record]
"""The records of a model at a point by backend; "" is ``auto``."""


def summary(records: Iterable[Record]) -> dict[str, Any] | None:
    """Judge the rule of ``auto`` as plain data; None if no model was timed with ``auto`` and two backends.

    ``auto`` has the times of ``auto`` itself over those of the fastest backend, ``clock`` those over the times of the
    backend that it took: equal work, so what differs is noise. ``without_native`` is what the rule takes where no
    compiler is there, over the fastest of the rest.
    """
    groups = _groups(records)
    if not groups:
        return None
    portable = {
        key: {name: group[name] for name in group if name not in ("", "native")} for key, group in groups.items()
    }
    fallback = {key: _without_native(*key) for key, group in portable.items() if len(group) > 1}
    return {
        "auto": _judged([_choice(point, group, "", group[""]["backend"]) for (point, _), group in groups.items()]),
        "clock": _judged(
            [
                Choice(point, taken, taken, _ratio(group[""], group[taken]))
                for (point, _), group in groups.items()
                if (taken := group[""]["backend"]) in group
            ]
        ),
        "without_native": _judged(
            [_choice(key[0], portable[key], taken, taken) for key, taken in fallback.items() if taken in portable[key]]
        ),
    }


def _groups(records: Iterable[Record]) -> dict[tuple[Point, str], Group]:
    groups: dict[tuple[Point, str], dict[str, Record]] = {}
    for record in records:
        model, _, backend = record["model"].partition("@")
        if record.get("samples"):
            groups.setdefault((point_of(record), model), {})[backend] = record
    return {key: group for key, group in groups.items() if "" in group and len(group) > 2}


def _choice(point: Point, group: Group, timed: str, taken: str) -> Choice:
    fastest = min((name for name in group if name), key=lambda name: group[name]["seconds"]["median"])
    return Choice(point, taken, fastest, _ratio(group[timed], group[fastest]))


@functools.cache  # the results are written after every point
def _without_native(point: Point, model: str) -> str | None:
    """Return the backend that ``auto`` takes where the kernel cannot be built; None if the model has no such rule."""
    known = contender(model)
    planner = known.planner(point) if isinstance(known, Model) else None
    if not isinstance(planner, PatternPlanner):
        return None
    return replace(planner, backend="auto", native=False)(packed(documents(point))).backend


def _ratio(record: Record, other: Record) -> float:
    return float(paired_ratio(record["samples"], other["samples"])["median"])


def _judged(choices: Sequence[Choice]) -> dict[str, Any] | None:
    if not choices:
        return None
    ratios = [choice.ratio for choice in choices]
    worst = choices[int(np.argmax(ratios))]
    return {
        "points": len(choices),
        "mean": float(np.mean(ratios)),
        "worst": worst.ratio,
        "worst_at": f"{worst.point} ({worst.taken}, where {worst.fastest} was faster)",
        "fastest_taken": sum(choice.taken == choice.fastest for choice in choices),
        "state": "met" if np.mean(ratios) <= MEAN_GOAL and worst.ratio <= WORST_GOAL else "not met",
    }
