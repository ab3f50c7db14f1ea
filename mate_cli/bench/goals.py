"""Goals of exact MATE on a CPU with two threads (fp32), and how the records compare with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mate_cli.bench.findings import Series, Value, curves, exponents
from mate_cli.bench.measure import Record

_FORWARD, _TRAINING = ("base", "grid", 1, "forward", "fp32"), ("base", "grid", 1, "training", "fp32")
_MINILM, _MINILM_TRAINING = ("minilm", "grid", 1, "forward", "fp32"), ("minilm", "grid", 1, "training", "fp32")
_MIXED = ("base", "mixed", 4, "forward", "fp32")
_REAL = [("minilm", tables, 8, "training", "fp32") for tables in ("hybridqa", "sqa", "wtq", "tabfact")]
_LONG_QUESTION = ("base", "column_question_190", 1, "training", "fp32")
_DROPOUT = ("base", "grid", 1, "training_dropout_0.1", "fp32")
_THREADS = 2
_LONG = (2048, 4096, 8192, 16384)

VALUES: dict[str, Value] = {
    "time": lambda record: record["seconds"]["median"],
    "memory": lambda record: record["peak_bytes"],
    "time / limit": lambda record: record["time_over_limit"]["median"],
    "times as fast as hf_tapas": lambda record: record["speedup"]["hf_tapas"]["median"],
    "times as fast as dense_sdpa": lambda record: record["speedup"]["dense_sdpa"]["median"],
    "memory / limit": lambda record: record["peak_over_limit"],
    "counted FLOPs / formula": lambda record: record["flops"]["counted"] / record["flops"]["formula"],
}


@dataclass(frozen=True)
class Goal:
    """Limits of a value at all of ``lengths``; without lengths, of an exponent over the length.

    With ``over``, a series and a model, the value is divided by theirs at the same length.
    """

    value: str
    series: Series
    lengths: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    model: str = "mate"
    over: tuple[Series, str] | None = None


GOALS = (
    Goal("time / limit", _FORWARD, (2048,), high=1.07),
    Goal("times as fast as hf_tapas", _FORWARD, (2048,), low=2.7),
    Goal("time / limit", _FORWARD, (8192,), high=1.2),
    Goal("times as fast as dense_sdpa", _FORWARD, (8192,), low=2.3),
    Goal("time / limit", _MINILM, (2048,), high=1.17),
    Goal("time / limit", _MINILM_TRAINING, (2048,), high=1.2),
    Goal("times as fast as hf_tapas", _MINILM, (2048,), low=6.0),
    Goal("time / limit", _TRAINING, (2048,), high=1.08),
    Goal("time / limit", _TRAINING, (8192,), high=1.25),
    Goal("times as fast as hf_tapas", _MIXED, (2048,), low=6.0),
    *(Goal("time / limit", series, (320,), high=1.12) for series in _REAL),
    *(Goal("times as fast as hf_tapas", series, (320,), low=4.0) for series in _REAL),
    Goal("time", _LONG_QUESTION, (1024,), high=1.2, over=(_LONG_QUESTION, "mate@dense")),
    Goal("memory", _LONG_QUESTION, (1024,), high=1.2, over=(_LONG_QUESTION, "mate@dense")),
    Goal("time / limit", _DROPOUT, (2048,), high=1.15, over=(_TRAINING, "mate")),
    Goal("memory / limit", _FORWARD, _LONG, high=1.15),
    Goal("memory / limit", _TRAINING, _LONG, high=1.3),
    Goal("counted FLOPs / formula", _FORWARD, _LONG, low=0.99, high=1.01),
    Goal("exponent of time above limit", _FORWARD, high=1.4),
    Goal("exponent of time above limit", _FORWARD, high=1.1, model="mate_bucketed"),
    Goal("exponent of time above limit", _FORWARD, low=1.8, high=2.1, model="dense_sdpa"),
    Goal("exponent of memory", _FORWARD, high=1.1),
    Goal("exponent of memory", _FORWARD, low=1.8, model="hf_tapas"),
)


def judged(records: Iterable[Record], threads: int) -> list[dict[str, Any]]:
    """Return each goal with its worst value and its state: met, not met, not measured.

    Args:
        threads: of PyTorch on the CPU; with other than two, as for records of a GPU, no goal is measured.
    """
    by_curve = curves(record for record in records if record["device"] == "cpu" and threads == _THREADS)
    return [_judge(goal, by_curve) for goal in GOALS]


def _judge(goal: Goal, by_curve: dict[tuple[Series, str], list[Record]]) -> dict[str, Any]:
    curve = by_curve.get((goal.series, goal.model), [])
    values = _at_lengths(goal, curve) if goal.lengths else _fitted(goal, curve)
    if goal.over:
        others = _at_lengths(goal, by_curve.get(goal.over, []))
        values = [value / other for value, other in zip(values, others, strict=True)] if values and others else []
    worst = max(values, key=lambda value: _excess(goal, value)) if values else None
    state = "not measured" if worst is None else "met" if _excess(goal, worst) <= 0 else "not met"
    return {**vars(goal), "lengths": list(goal.lengths), "series": list(goal.series), "found": worst, "state": state}


def _at_lengths(goal: Goal, curve: list[Record]) -> list[float]:
    """Return the values at all lengths; none if one is missing."""
    try:
        chosen = {record["length"]: VALUES[goal.value](record) for record in curve if record["length"] in goal.lengths}
    except KeyError:
        return []
    values = [chosen[length] for length in goal.lengths if length in chosen]
    return [value for value in values if value is not None] if len(values) == len(goal.lengths) else []


def _fitted(goal: Goal, curve: list[Record]) -> list[float]:
    value = exponents(curve)[goal.value.removeprefix("exponent of ")]
    return [] if value is None else [value]


def _excess(goal: Goal, value: float) -> float:
    """Return how far a value is beyond its limits; at most 0 if it meets them."""
    above = value - goal.high if goal.high is not None else -float("inf")
    below = goal.low - value if goal.low is not None else -float("inf")
    return max(above, below)
