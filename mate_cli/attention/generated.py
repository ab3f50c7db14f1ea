"""Generated tables: the layout of a question and a table of a given shape and length, without any text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mate_cli.attention.plan import Layout

QUESTION_TOKENS = 20
CELL_TOKENS = (5, 12)
_MEAN_CELL = sum(CELL_TOKENS) / 2


def table_layout(
    shape: str, tokens: int, question: int = QUESTION_TOKENS, seed: int | Sequence[int] | None = None
) -> Layout:
    """Lay out a question of ``question`` tokens and a table of cells of 5 to 12 tokens, ``tokens`` in all.

    The header is the first row. The last cell is cut, so that the length is exact.

    Args:
        shape: of ``mate_cli.config.bench.LAYOUTS``, but ``mixed``: ``grid`` has 6 columns, ``long`` 4, ``column`` one,
            ``columns_2`` to ``columns_40`` 2, 20 and 40, ``wide`` 6 rows, ``square`` as many columns as rows, give or
            take one.
        seed: of the lengths of the cells; None: one for each length.
    """
    table = tokens - question
    rows, columns = _rows_and_columns(shape, table)
    most = -(-table // CELL_TOKENS[0])
    lengths = np.random.default_rng([0, tokens] if seed is None else seed).integers(*CELL_TOKENS, most, endpoint=True)
    cell = np.repeat(np.arange(most), lengths)[:table]
    row = np.minimum(cell // columns, rows - 1)
    before = np.zeros(question, np.int64)
    return Layout(
        document=np.zeros(tokens, np.int64),
        row=np.r_[before, row],
        column=np.r_[before, cell - row * columns + 1],
        segment=np.repeat([0, 1], [question, table]),
    )


def _rows_and_columns(shape: str, tokens: int) -> tuple[int, int]:
    """The greatest number of rows, and the number of columns, of a table of that many tokens."""
    cells = tokens / _MEAN_CELL
    sizes = {
        "grid": (tokens, 6),
        "long": (tokens, 4),
        "column": (tokens, 1),
        "columns_2": (tokens, 2),
        "columns_20": (tokens, 20),
        "columns_40": (tokens, 40),
        "wide": (6, math.ceil(cells / 6)),
        "square": (tokens, math.ceil(math.sqrt(cells))),
    }
    return sizes[shape]
