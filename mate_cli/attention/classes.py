"""Which lines are computed together: a few classes of similar length, each padded to its longest."""

from __future__ import annotations

import numpy as np

_MAX_CLASSES = 4
# Costs in pairs of one head: moving a token's row in or out, and starting one more kernel call.
_ROW_COST = 40.0
_CLASS_COST = 6000.0
_MAX_LENGTHS = 64


def length_classes(lengths: np.ndarray, question: int, multiple: int) -> list[tuple[int, int]]:
    """Cut lines sorted by falling length into at most 4 classes of least total cost (dynamic programming).

    A class of ``s`` lines padded to ``L`` tokens costs ``s * (L * K + 40 (L + 2 K))`` with ``K`` its key count.

    Args:
        lengths: int ``[lines]``, falling; question: keys that each line has besides itself.

    Returns:
        (first, end) of each class.
    """
    if not len(lengths):
        return []
    first = np.flatnonzero(np.r_[True, np.diff(lengths) != 0])
    if len(first) > _MAX_LENGTHS:
        first = first[np.unique(np.linspace(0, len(first) - 1, _MAX_LENGTHS).astype(int))]
    borders = np.r_[first, len(lengths)]
    longest = lengths[first].astype(float)
    keys = np.ceil((longest + question) / multiple) * multiple
    cost_per_line = longest * keys + _ROW_COST * (longest + 2 * keys)
    return _cheapest_cuts(borders, cost_per_line)


def _cheapest_cuts(borders: np.ndarray, cost_per_line: np.ndarray) -> list[tuple[int, int]]:
    kinds = len(cost_per_line)
    best = np.full((_MAX_CLASSES + 1, kinds + 1), np.inf)
    best[0, 0] = 0.0
    cut = np.zeros((_MAX_CLASSES + 1, kinds + 1), int)
    for classes in range(1, _MAX_CLASSES + 1):
        for end in range(1, kinds + 1):
            lines = borders[end] - borders[:end]
            total = best[classes - 1, :end] + lines * cost_per_line[:end] + _CLASS_COST
            cut[classes, end] = start = int(total.argmin())
            best[classes, end] = total[start]
    classes, end = int(best[:, kinds].argmin()), kinds
    cuts = []
    while classes:
        start = int(cut[classes, end])
        cuts.append((int(borders[start]), int(borders[end])))
        classes, end = classes - 1, start
    return cuts[::-1]
