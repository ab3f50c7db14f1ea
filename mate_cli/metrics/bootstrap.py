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


def bootstrap(
    values: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    samples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean of one value per question, with its percentile bootstrap interval.

    Drawing questions with replacement is drawing how often each distinct value comes, which is multinomial:
    the cost does not grow with the number of questions.

    Args:
        values: one number, or hit (bool), per question ``[questions]``.
        groups: numbers from 0, int ``[questions]``: questions that belong together, as those of a conversation do,
            and are drawn together; None draws each by itself.

    Raises:
        ValueError: no question.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size:
        raise ValueError("a bootstrap needs at least one value")
    group = np.arange(len(numbers)) if groups is None else np.asarray(groups)
    drawables = np.stack([np.bincount(group, numbers), np.bincount(group)], axis=1)  # sum and size of each group
    distinct, counts = np.unique(drawables[drawables[:, 1] > 0], axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(counts.sum(), counts / counts.sum(), size=samples)
    means = drawn @ distinct[:, 0] / (drawn @ distinct[:, 1])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(counts @ distinct[:, 0] / len(numbers)), float(low), float(high))


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    samples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean of ``first - second`` and its interval; both ``[questions]``, of the same questions in order.

    An interval above 0 says that ``first`` is the better of the two on questions like these. ``groups`` as in
    ``bootstrap``.

    Raises:
        ValueError: the two are not equally long, or empty.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"paired values of {a.shape} and {b.shape} questions")
    return bootstrap(a - b, groups, samples=samples, level=level, seed=seed)
