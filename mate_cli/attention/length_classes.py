"""The cut of sorted lengths into classes, each padded to its longest, by dynamic programming."""

from __future__ import annotations

import numpy as np


def cheapest_cuts(borders: np.ndarray, cost: np.ndarray, most: int, class_cost: float) -> list[tuple[int, int]]:
    """Cut items, sorted by falling length, into at most ``most`` classes of least total cost.

    Args:
        borders: int ``[steps + 1]``, rising: the items that may begin a class, the first among them, then the number of
            items.
        cost: of an item in a class that begins at each border but the last, ``[steps]``.
        class_cost: added for each class.

    Returns:
        (first, end) of each class; the fewest classes of those that cost equally little.
    """
    steps = len(cost)
    best = np.full((most + 1, steps + 1), np.inf)
    best[0, 0] = 0.0
    cut = np.zeros((most + 1, steps + 1), int)
    for classes in range(1, most + 1):
        for end in range(1, steps + 1):
            total = best[classes - 1, :end] + (borders[end] - borders[:end]) * cost[:end] + class_cost
            cut[classes, end] = start = int(total.argmin())
            best[classes, end] = total[start]
    classes, end = int(best[:, steps].argmin()), steps
    cuts = []
    while classes:
        start = int(cut[classes, end])
        cuts.append((int(borders[start]), int(borders[end])))
        classes, end = classes - 1, start
    return cuts[::-1]
