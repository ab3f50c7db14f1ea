"""The tables that encoders are measured on: shapes without words, cells of 5 to 12 tokens."""

from __future__ import annotations

import math

import numpy as np

from mate_cli.attention import Layout
from mate_cli.bench.point import Point

QUESTION = 20
CELL = (5, 12)
_MEAN_CELL = sum(CELL) / 2

# `mixed` goes through these, example by example: how full a batch of unequal tables is (attention.md, section 6).
FILLS = (1.0, 0.8, 0.5, 0.3)
QUESTIONS = (20, 12, 30, 16)


def documents(point: Point) -> list[Layout]:
    """The tables of a point, each a document of its own, different in each place of the batch."""
    tables = []
    for number in range(point.batch):
        tokens, question, shape = point.length, QUESTION, point.layout
        if shape == "mixed":
            tokens = round(tokens * FILLS[number % len(FILLS)])
            question, shape = QUESTIONS[number % len(QUESTIONS)], "grid"
        tables.append(table_layout(shape, tokens, question, point.seed + number))
    return tables


def table_layout(shape: str, tokens: int, question: int, seed: int) -> Layout:
    """One table behind its question, exactly ``tokens`` long: the last cells give or take what is left.

    ``grid`` has 6 columns, ``long`` 4, ``wide`` 6 rows, ``square`` as many rows as columns; the header is a row.
    """
    left = tokens - question
    rows, columns = _rows_and_columns(shape, left)
    lengths = np.random.default_rng(seed).integers(CELL[0], CELL[1] + 1, left)
    cell = np.repeat(np.arange(left), lengths)[:left]
    row = np.minimum(cell // columns, rows - 1)
    column = cell - row * columns + 1
    return Layout(
        document=np.zeros(tokens, np.int64),
        row=np.r_[np.zeros(question, np.int64), row],
        column=np.r_[np.zeros(question, np.int64), column],
        segment=np.repeat([0, 1], [question, left]),
    )


def packed(tables: list[Layout]) -> Layout:
    """The tables one behind the other, without padding."""
    sizes = [len(table.document) for table in tables]
    return Layout(
        document=np.repeat(np.arange(len(tables)), sizes),
        row=np.concatenate([table.row for table in tables]),
        column=np.concatenate([table.column for table in tables]),
        segment=np.concatenate([table.segment for table in tables]),
    )


def _rows_and_columns(shape: str, tokens: int) -> tuple[int, int]:
    """Most rows, and columns, of a table of that many tokens."""
    cells = tokens / _MEAN_CELL
    if shape == "wide":
        return 6, max(1, int(cells / 6))
    columns = {"grid": 6, "long": 4, "square": max(1, round(math.sqrt(cells)))}[shape]
    return tokens, columns
