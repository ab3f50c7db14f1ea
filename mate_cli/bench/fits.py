"""What the curves say: exponents, and lengths from which one contender is faster than another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Two lengths always lie on a line; the smallest fits are of three.
_MIN_LENGTHS = 3


def exponent(lengths: Sequence[int], values: Sequence[float]) -> float | None:
    """Slope of log value over log length (least squares); None for fewer than three lengths or values not above 0."""
    if len(lengths) < _MIN_LENGTHS or min(values) <= 0:
        return None
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])


def break_even(lengths: Sequence[int], speedups: Sequence[float]) -> float | None:
    """Length from which on the speed-up stays above 1, between two measured ones by a line in the logarithms.

    Returns:
        the shortest length where it is above 1 everywhere; None where it is not at the longest.
    """
    if not lengths or speedups[-1] <= 1:
        return None
    slower = [index for index, speedup in enumerate(speedups) if speedup <= 1]
    if not slower:
        return float(lengths[0])
    index = slower[-1]
    ends = np.log(speedups[index : index + 2])
    return float(np.exp(np.interp(0.0, ends, np.log(lengths[index : index + 2]))))
