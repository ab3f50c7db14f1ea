"""Differences with their probabilities, and what is left of several of them when their number is taken into account."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mate_cli.metrics.statistics import LEVEL, Interval

Name = TypeVar("Name")


@dataclass(frozen=True, slots=True)
class Difference:
    """
    Attributes:
        interval: mean difference with its 95% interval.
        freedom: degrees of freedom of Student's t behind the interval; infinite for the normal approximation, which a
            bootstrap over hundreds of questions follows.
    """

    interval: Interval
    freedom: float = math.inf

    @property
    def p(self) -> float:
        """Two-sided probability of such a mean if there were no difference; NaN for an interval without width."""
        from scipy.stats import t  # slow to import

        error = (self.interval.high - self.interval.low) / 2 / t.ppf((1 + LEVEL) / 2, self.freedom)
        return float(2 * t.sf(abs(self.interval.mean) / error, self.freedom)) if error else math.nan

    def among(self, comparisons: int) -> Interval:
        """Return the interval that holds, with those of the other ``comparisons``, in 95% of cases (Bonferroni)."""
        from scipy.stats import t

        one, all_of_them = t.ppf([(1 + LEVEL) / 2, 1 - (1 - LEVEL) / 2 / comparisons], self.freedom)
        mean, low, high = self.interval.mean, self.interval.low, self.interval.high
        wider = all_of_them / one
        return Interval(mean, mean - wider * (mean - low), mean + wider * (high - mean))


def seeds_difference(first: Sequence[float], second: Sequence[float]) -> Difference | None:
    """Return the difference of the means of runs with different seeds by Student's t with one spread for both sides.

    A side of a single run is taken to have the spread of the other.

    Returns:
        None if no side has two runs with different values: the spread is then unknown.
    """
    a, b = (np.asarray(side, dtype=np.float64) for side in (first, second))
    freedom = len(a) + len(b) - 2
    squares = sum(float(((side - side.mean()) ** 2).sum()) for side in (a, b) if len(side))
    if not len(a) or not len(b) or not squares:
        return None
    from scipy.stats import t

    mean = float(a.mean() - b.mean())
    margin = float(t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(squares / freedom * (1 / len(a) + 1 / len(b)))
    return Difference(Interval(mean, mean - margin, mean + margin), freedom)


def holm(chances: Mapping[Name, float]) -> dict[Name, float]:
    """Correct the probabilities of several differences for their number (Holm 1979); NaN is none and stays."""
    corrected, highest = dict(chances), 0.0
    tested = sorted((name for name in chances if not math.isnan(chances[name])), key=lambda name: chances[name])
    for rank, name in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * chances[name]))
        corrected[name] = highest
    return corrected
