"""Generated tables of given shape and length: where tokens stand, without any text."""

from __future__ import annotations

import math

import numpy as np

from mate_cli.attention import Layout

QUESTION_TOKENS = 20
CELL_TOKENS = (5, 12)
_MEAN_CELL = sum(CELL_TOKENS) / 2

SHAPES = ("grid", "long", "wide", "square")
"""6 columns, 4 columns, 6 rows, as many columns as rows."""


def table_layout(shape: str, tokens: int, seed: int = 0) -> Layout:
    """One question of 20 tokens and a table of cells of 5 to 12 tokens each, ``tokens`` in all.

    The header is the first row. The last cells are cut or empty, so that the length is exact.
    """
    generator = np.random.default_rng([seed, tokens])
    columns = _columns(shape, (tokens - QUESTION_TOKENS) / _MEAN_CELL)
    most = -(-(tokens - QUESTION_TOKENS) // CELL_TOKENS[0])
    length = generator.integers(CELL_TOKENS[0], CELL_TOKENS[1] + 1, most)
    cell = np.repeat(np.arange(most), length)[: tokens - QUESTION_TOKENS]
    zeros = np.zeros(QUESTION_TOKENS, np.int64)
    row, column = np.r_[zeros, cell // columns], np.r_[zeros, cell % columns + 1]
    return Layout(np.zeros(tokens, np.int64), row, column, (column > 0).astype(np.int64))


def _columns(shape: str, cells: float) -> int:
    fixed = {"grid": 6, "long": 4, "wide": math.ceil(cells / 6), "square": math.ceil(math.sqrt(cells))}
    return max(fixed[shape], 1)
