"""What several seeds say together, as the paper reports it (checklist 116, 117), and whether two orders agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from mate_cli.metrics.bootstrap import Interval, paired_bootstrap

_LEAST_RANKED = 3  # any two are in one order or the other


@dataclass(frozen=True, slots=True)
class Spread:
    """
    Attributes:
        half_iqr: half the interquartile range, quartiles interpolated between values; None of a single value.
    """

    median: float
    half_iqr: float | None
    n: int


def spread(values: Sequence[float]) -> Spread:
    """The median of the seeds, half their interquartile range, and how many they are.

    Raises:
        ValueError: no value.
    """
    if not values:
        raise ValueError("no seed has a value")
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return Spread(float(median), float(high - low) / 2 if len(values) > 1 else None, len(values))


def median_run(scores: Mapping[int, float]) -> int:
    """The seed whose score is the median; of an even number, the lower of the middle two, of equals the first seed.

    Raises:
        ValueError: no seed.
    """
    if not scores:
        raise ValueError("no seed has a score")
    ranked = sorted(scores, key=lambda seed: (scores[seed], seed))
    return ranked[(len(ranked) - 1) // 2]


def rank_correlation(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Spearman's; None for fewer than three, or where one side does not vary."""
    if len(ours) < _LEAST_RANKED or len(set(ours)) == 1 or len(set(theirs)) == 1:
        return None
    return float(spearmanr(ours, theirs).statistic)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A row less another, ours and theirs.

    Attributes:
        ours: the mean difference of the seeds that both rows have, with its 95% bootstrap interval over seeds; of a
            single seed the interval is unknown (NaN).
    """

    ours: Interval
    theirs: float
    n: int

    @property
    def verdict(self) -> str:
        """Whether the sign is the paper's: ``agrees`` or ``differs`` where the interval leaves out 0, else ``open``."""
        if not (self.ours.low > 0 or self.ours.high < 0) or not self.theirs:
            return "open"
        return "agrees" if (self.ours.mean > 0) == (self.theirs > 0) else "differs"


def contrast(first: Mapping[int, float], second: Mapping[int, float], theirs: float) -> Contrast | None:
    """Two rows by seed, paired; None where they have no seed in common."""
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return None
    ours = paired_bootstrap([first[seed] for seed in seeds], [second[seed] for seed in seeds])
    if len(seeds) == 1:
        ours = Interval(ours.mean, math.nan, math.nan)
    return Contrast(ours, theirs, len(seeds))
