"""Time calls in turns, so that other load on the machine slows all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

# Fewer rounds do not show the spread.
MIN_ROUNDS = 3

Clock = Callable[[], float]


class Call(Protocol):
    def reset(self) -> None: ...

    def __call__(self) -> None: ...


def timed(call: Call, clock: Clock = time.perf_counter) -> float:
    """Return the seconds of one call."""
    call.reset()
    started = clock()
    call()
    return clock() - started


def interleave(
    calls: Mapping[str, Call], rounds: int, seconds: float, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of every call in every round; the first call of a round is the last of the next.

    Args:
        rounds: largest number of rounds.
        seconds: after ``MIN_ROUNDS`` no round starts once so much time has passed.
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
    """Return median, quartiles and number of the values."""
    q1, median, q3 = np.percentile(values, (25, 50, 75)).tolist()
    return {"median": median, "q1": q1, "q3": q3, "rounds": len(values)}


def paired_ratio(numerator: Sequence[float], denominator: Sequence[float]) -> dict[str, Any]:
    """Summarise the ratios of the rounds: load that slows a whole round down does not change them."""
    return summary((np.asarray(numerator) / np.asarray(denominator)).tolist())
