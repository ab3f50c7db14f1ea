"""Uniform truncation: the longest cells lose words until the table fits (checklist 31, spec 1.3)."""

from __future__ import annotations

import numpy as np


def pieces_per_cell(word_start: np.ndarray, budget: int) -> int:
    """The largest k such that keeping, in every cell, the words that start before piece k fits the budget.

    Words stay whole, so a cell may keep more than k pieces; for k >= 1 every cell keeps its first word.

    Args:
        word_start: ``[pieces]``, where the word of each piece starts, counted in pieces within its cell.
        budget: how many pieces may stay.

    Returns:
        k; all stays at the largest, one more than the largest word start. 0: not even the first words fit.
    """
    cost = np.cumsum(np.bincount(word_start))  # cost[k - 1]: pieces that stay at k
    return int(np.searchsorted(cost, budget, side="right"))
