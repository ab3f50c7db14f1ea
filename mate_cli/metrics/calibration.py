"""How far probabilities are from shares of right answers, and what is gained by leaving unsure questions unanswered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

BINS = 10
"""Bins of equal width of ``calibration_error``."""

_POINTS = 20


@dataclass(frozen=True)
class Answered:
    """The answers that are given where questions below a threshold get none.

    Attributes:
        threshold: the least probability of an answer that is given; coverage: share of the questions with an answer;
            accuracy: share of right ones among these, 0 if there are none.
    """

    threshold: float
    coverage: float
    accuracy: float


def calibration_error(probability: ArrayLike, right: ArrayLike) -> float:
    """Return the expected calibration error (Guo et al., 2017, equation 3), from 0 to 1.

    It is the mean, over the answers, of the distance between the mean probability and the share of right answers in
    the bin of each answer.

    Args:
        probability: ``[answers]``, from 0 to 1; right: bool ``[answers]``.
    """
    sure, is_right = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not len(sure):
        return 0.0
    bins = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, sure - is_right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(sure))


def log_loss(probability: ArrayLike, right: ArrayLike) -> float:
    """Return the mean of -log p of what is the case, with p at least 1e-6."""
    sure, is_right = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=bool)
    return float(-np.log(np.maximum(np.where(is_right, sure, 1 - sure), 1e-6)).mean())


def answered(probability: ArrayLike, right: ArrayLike, threshold: float) -> Answered:
    """Return what is left with a threshold."""
    given = np.asarray(probability, dtype=np.float64) >= threshold
    is_right = np.asarray(right, dtype=bool)[given]
    coverage = float(given.mean()) if len(given) else 0.0
    return Answered(threshold, coverage, float(is_right.mean()) if len(is_right) else 0.0)


def coverage_curve(probability: ArrayLike, right: ArrayLike) -> list[Answered]:
    """Return the risk-coverage curve (El-Yaniv and Wiener, 2010) at every twentieth of the questions, surest first.

    Equal probabilities stay together, so that a point may cover more.
    """
    sure = -np.sort(-np.asarray(probability, dtype=np.float64))
    last = [(number * len(sure) + _POINTS - 1) // _POINTS - 1 for number in range(1, _POINTS + 1)] if len(sure) else []
    thresholds = [float(sure[place]) for place in last]
    return [answered(probability, right, threshold) for threshold in dict.fromkeys(thresholds)]


def threshold_for(probability: ArrayLike, right: ArrayLike, accuracy: float, fewest: int) -> float | None:
    """Return the least threshold at which a share of ``accuracy`` of the answers is right; None if there is none.

    Args:
        fewest: number of answers that must be left, so that the threshold rests on more than a few.
    """
    sure, is_right = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
    order = np.argsort(-sure, kind="stable")
    last = np.flatnonzero(np.diff(sure[order], append=-1.0))  # the last place of each distinct probability
    share = np.cumsum(is_right[order])[last] / (last + 1)
    enough = last[(share >= accuracy) & (last + 1 >= fewest)]
    return float(sure[order][enough[-1]]) if len(enough) else None
