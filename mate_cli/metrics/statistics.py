"""Statistics of results: intervals over questions, and spread and order over seeds.

All intervals are of 95%. A share of yes/no outcomes, such as accuracy, Hits@k or exact match, has Wilson's interval
(Wilson 1927), which is also right for a few questions: 6 of 6 gives 61.0 to 100.0, where resampling gives 100.0 to
100.0. Means of other values, such as F1, differences of paired values, and outcomes that come in groups have a
percentile bootstrap interval (Efron 1979). Differences over seeds are in ``mate_cli.metrics.comparisons``.

The paper reports the median and half the interquartile range of five seeds (appendix A.2), and the test result of the
seed with the median development score (table 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.95  # of all intervals
_SAMPLES = 10_000
_MIN_RANKED = 3  # two values are always in one order or the other


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% interval."""

    mean: float
    low: float
    high: float


def mean_interval(values: ArrayLike, groups: ArrayLike | None = None) -> Interval:
    """Return the mean of one value per question with its 95% interval.

    Wilson's where all values are 0 or 1 and each question is drawn by itself; the bootstrap's elsewhere. In groups that
    are all right or all wrong, of which resampling tells nothing, Wilson's with each group as one outcome.

    Args:
        values, groups: as in ``bootstrap``.

    Raises:
        ValueError: no question.
    """
    numbers = np.asarray(values, dtype=np.float64)
    is_share = numbers.size > 0 and bool(np.isin(numbers, (0, 1)).all())
    outcomes = len(numbers if groups is None else np.unique(groups))
    if is_share and (outcomes == len(numbers) or len(np.unique(numbers)) == 1):
        return _wilson(float(numbers.mean()), outcomes)
    return bootstrap(numbers, groups)


def _wilson(share: float, outcomes: int) -> Interval:
    from scipy.stats import binomtest  # slow to import

    limits = binomtest(round(share * outcomes), outcomes).proportion_ci(LEVEL, method="wilson")
    return Interval(share, float(limits.low), float(limits.high))


def bootstrap(values: ArrayLike, groups: ArrayLike | None = None) -> Interval:
    """Return the mean of one value per question with its 95% percentile bootstrap interval, always the same.

    Drawing questions with replacement is a multinomial draw of how often each distinct value occurs, so the cost grows
    with the number of distinct values, which are few for hits, and not with that of questions.

    Args:
        values: number, or hit (bool), of each question, ``[questions]``.
        groups: int ``[questions]``, numbers from 0: questions of one group, such as a conversation, are drawn together;
            None draws each question by itself.

    Raises:
        ValueError: no question.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size:
        raise ValueError("a bootstrap needs at least one value")
    group = np.arange(len(numbers)) if groups is None else np.asarray(groups)
    drawables = np.stack([np.bincount(group, numbers), np.bincount(group)], axis=1)  # sum and size of each group
    distinct, counts = np.unique(drawables[drawables[:, 1] > 0], axis=0, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(counts.sum(), counts / counts.sum(), size=_SAMPLES)
    means = drawn @ distinct[:, 0] / (drawn @ distinct[:, 1])
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(counts @ distinct[:, 0] / len(numbers)), float(low), float(high))


def paired_bootstrap(first: ArrayLike, second: ArrayLike, groups: ArrayLike | None = None) -> Interval:
    """Return the mean of ``first - second`` with its interval; both ``[questions]``, of the same questions in order.

    An interval above 0 means that ``first`` is better on questions like these. ``groups`` as in ``bootstrap``.

    If all questions have the same difference between yes and no, resampling tells nothing. Then at least a share of
    them has it, Wilson's lower limit for n of n, and each of the others may have any difference from -1 to 1.

    Raises:
        ValueError: the two have different lengths, or are empty.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"paired values of {a.shape} and {b.shape} questions")
    differences = a - b
    if len(np.unique(differences)) == 1 and np.isin([a, b], (0, 1)).all():
        mean = float(differences[0])
        share = _wilson(1.0, len(a if groups is None else np.unique(groups))).low
        return Interval(mean, max(-1.0, share * mean - (1 - share)), min(1.0, share * mean + (1 - share)))
    return bootstrap(differences, groups)


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of ``n`` values and half their interquartile range, with interpolated quartiles; None for n = 1."""

    median: float
    half_iqr: float | None
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Summarize the values of the seeds.

    Raises:
        ValueError: no value.
    """
    if not values:
        raise ValueError("no seed has a value")
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return Spread(float(median), float(high - low) / 2 if len(values) > 1 else None, len(values))


def median_run(scores: Mapping[int, float]) -> int:
    """Return the seed with the median score; of an even number the lower of the middle two, of ties the first seed.

    Raises:
        ValueError: no seed.
    """
    if not scores:
        raise ValueError("no seed has a score")
    ranked = sorted(scores, key=lambda seed: (scores[seed], seed))
    return ranked[(len(ranked) - 1) // 2]


def rank_correlation(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None for fewer than three values, or if one side is constant."""
    if len(ours) < _MIN_RANKED or len(set(ours)) == 1 or len(set(theirs)) == 1:
        return None
    from scipy.stats import spearmanr  # slow to import

    return float(spearmanr(ours, theirs).statistic)
