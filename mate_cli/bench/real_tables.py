"""Layouts of real tables: the tokens of the cells of training examples, without any text.

``real_tables.jsonl`` has examples of the training split of each data set that ``mate_cli/bench/draw_tables.py`` drew:
the length of the question, and that of each cell before any cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mate_cli.attention import Layout
from mate_cli.attention.plan import ranks
from mate_cli.encoding.linearize import pieces_per_cell
from mate_cli.system.errors import UserError
from mate_cli.system.files import read_json_lines

FILE = Path(__file__).with_name("real_tables.jsonl")


class TokenCounts(NamedTuple):
    """Tokens of an example: of the question with [CLS] and [SEP], and of each cell, int ``[rows, columns]``."""

    question: int
    cells: np.ndarray

    def layout(self, tokens: int) -> Layout | None:
        """Cut the longest cells as the encoder does, but within words; None if one token per cell is too much."""
        kept = pieces_per_cell(ranks(self.cells.ravel()), tokens - self.question)
        if kept == 0 and self.cells.any():
            return None
        lengths = np.minimum(self.cells, kept).ravel()
        row, column = np.divmod(np.repeat(np.arange(len(lengths)), lengths), self.cells.shape[1])
        before = np.zeros(self.question, np.int64)
        return Layout(
            document=np.zeros(self.question + len(row), np.int64),
            row=np.r_[before, row],
            column=np.r_[before, column + 1],
            segment=np.repeat([0, 1], [self.question, len(row)]),
        )


def token_counts(layout: Layout) -> TokenCounts:
    """Count the tokens of the question and of the cells of a single document."""
    in_table = layout.segment != 0
    row, column = layout.row[in_table], layout.column[in_table] - 1
    cells = np.zeros((row.max(initial=0) + 1, column.max(initial=0) + 1), int)
    np.add.at(cells, (row, column), 1)
    return TokenCounts(int((~in_table).sum()), cells)


def real_layouts(name: str, tokens: int, numbers: Iterable[int]) -> list[Layout]:
    """Return examples of a data set, with at most ``tokens`` tokens each, by their numbers among those that fit.

    Raises:
        UserError: none fits.
    """
    fitting = [layout for counts in _drawn(name) if (layout := counts.layout(tokens)) is not None]
    if not fitting:
        raise UserError(f"layouts: no example of {name} that was drawn fits {tokens} tokens; take a greater length")
    return [fitting[number % len(fitting)] for number in numbers]


@cache
def _drawn(name: str) -> tuple[TokenCounts, ...]:
    drawn = [line for line in read_json_lines(FILE) if line.get("data") == name]
    return tuple(TokenCounts(example["question"], np.array(example["cells"])) for example in drawn)
