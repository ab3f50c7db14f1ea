"""Bootstrap intervals for means over questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over questions and the percentile interval around it."""

    mean: float
    low: float
    high: float


def bootstrap(values: ArrayLike, *, samples: int = 10_000, level: float = 0.95, seed: int = 0) -> Interval:
    """The mean of one value per question, with its percentile bootstrap interval.

    Drawing questions with replacement is drawing how often each distinct value comes, which is multinomial:
    the cost does not grow with the number of questions.

    Args:
        values: one number, or hit (bool), per question ``[questions]``.

    Raises:
        ValueError: no question.
    """
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    total = counts.sum()
    if total == 0:
        raise ValueError("a bootstrap needs at least one value")
    drawn = np.random.default_rng(seed).multinomial(total, counts / total, size=samples)
    means = drawn @ distinct / total
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(counts @ distinct / total), float(low), float(high))


def paired_bootstrap(
    first: ArrayLike, second: ArrayLike, *, samples: int = 10_000, level: float = 0.95, seed: int = 0
) -> Interval:
    """The mean of ``first - second`` and its interval; both ``[questions]``, of the same questions in order.

    An interval above 0 says that ``first`` is the better of the two on questions like these.

    Raises:
        ValueError: the two are not equally long, or empty.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"paired values of {a.shape} and {b.shape} questions")
    return bootstrap(a - b, samples=samples, level=level, seed=seed)
