"""Differences with their probabilities, and what is left of several of them when their number is taken into account."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mate_cli.metrics.statistics import LEVEL, Interval

Name = TypeVar("Name")

_ROUNDING = 1e-9  # relative: equal values may differ by so much


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
    if not len(a) or not len(b):
        return None
    squares = sum(float(((side - side.mean()) ** 2).sum()) for side in (a, b))
    if squares <= (_ROUNDING * max(abs(a).max(), abs(b).max())) ** 2:
        return None
    from scipy.stats import t

    mean = float(a.mean() - b.mean())
    margin = float(t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(squares / freedom * (1 / len(a) + 1 / len(b)))
    return Difference(Interval(mean, mean - margin, mean + margin), freedom)


@dataclass(frozen=True, slots=True)
class Contrast:
    """The difference of two rows of a table, ours and the paper's.

    Attributes:
        ours: difference of the means over seeds, with its 95% interval (NaN where the seeds tell no spread). The
            percentile bootstrap is too narrow for few seeds: with three it reaches from the smallest to the largest,
            which covers the median in 75% of cases.
        theirs: the difference of the paper's values; None if a row has none.
        runs: number of runs of each row.
        p: two-sided probability of such a difference if there were none (NaN as above).
    """

    ours: Interval
    theirs: float | None
    runs: tuple[int, int]
    p: float

    @property
    def verdict(self) -> str | None:
        """The interval against the paper's difference; None if there is none.

        ``differs`` without it, ``agrees`` with it and surely not 0, else ``open``.
        """
        if self.theirs is None:
            return None
        if math.isnan(self.p):
            return "open"
        if not self.ours.low <= self.theirs <= self.ours.high:
            return "differs"
        return "agrees" if self.p < 1 - LEVEL else "open"


def contrast(first: Sequence[float], second: Sequence[float], theirs: float | None) -> Contrast | None:
    """Compare the runs of two rows by ``seeds_difference``; None if a row has no run."""
    if not first or not second:
        return None
    runs, difference = (len(first), len(second)), seeds_difference(first, second)
    if difference is None:
        mean = float(np.mean(first) - np.mean(second))
        return Contrast(Interval(mean, math.nan, math.nan), theirs, runs, math.nan)
    return Contrast(difference.interval, theirs, runs, difference.p)


def holm(chances: Mapping[Name, float]) -> dict[Name, float]:
    """Correct the probabilities of several differences for their number (Holm 1979); NaN is none and stays."""
    corrected, highest = dict(chances), 0.0
    tested = sorted((name for name in chances if not math.isnan(chances[name])), key=lambda name: chances[name])
    for rank, name in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * chances[name]))
        corrected[name] = highest
    return corrected
