"""Time of calls that take turns, so that whatever else the machine does falls on all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

# Fewer rounds than this tell no spread.
MIN_ROUNDS = 3

Clock = Callable[[], float]


class Call(Protocol):
    def reset(self) -> None: ...

    def __call__(self) -> None: ...


def timed(call: Call, clock: Clock = time.perf_counter) -> float:
    """Seconds of one call."""
    call.reset()
    started = clock()
    call()
    return clock() - started


def interleave(
    calls: Mapping[str, Call], rounds: int, seconds: float, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of every call in every round, in which each has its turn; the first of a round is the next one's last.

    Args:
        rounds: how many, but after ``MIN_ROUNDS`` no new one begins once ``seconds`` have passed.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    names, started = list(calls), clock()
    for number in range(rounds):
        if number >= MIN_ROUNDS and clock() - started > seconds:
            break
        first = number % max(len(names), 1)
        for name in names[first:] + names[:first]:
            times[name].append(timed(calls[name], clock))
    return times


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Median, quartiles, and how many values there were."""
    q1, median, q3 = np.percentile(values, (25, 50, 75)).tolist()
    return {"median": median, "q1": q1, "q3": q3, "rounds": len(values)}


def paired_ratio(numerator: Sequence[float], denominator: Sequence[float]) -> dict[str, Any]:
    """Ratio in each round, then their summary: what slows a whole round down leaves it as it is."""
    return summary((np.asarray(numerator) / np.asarray(denominator)).tolist())
