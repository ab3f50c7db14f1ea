"""The tables that encoders are measured on: shapes without words, cells of 5 to 12 tokens."""

from __future__ import annotations

import numpy as np

from mate_cli.attention import Layout
from mate_cli.attention.generated import QUESTION_TOKENS, table_layout
from mate_cli.bench.point import Point

# `mixed` goes through these, example by example: how full a batch of unequal tables is (attention.md, section 6).
FILLS = (1.0, 0.8, 0.5, 0.3)
QUESTIONS = (20, 12, 30, 16)


def documents(point: Point) -> list[Layout]:
    """The tables of a point, each a document of its own, different in each place of the batch."""
    tables = []
    for number in range(point.batch):
        tokens, question, shape = point.length, QUESTION_TOKENS, point.layout
        if shape == "mixed":
            tokens = round(tokens * FILLS[number % len(FILLS)])
            question, shape = QUESTIONS[number % len(QUESTIONS)], "grid"
        tables.append(table_layout(shape, tokens, question, point.seed + number))
    return tables


def packed(tables: list[Layout]) -> Layout:
    """The tables one behind the other, without padding."""
    sizes = [len(table.document) for table in tables]
    return Layout(
        document=np.repeat(np.arange(len(tables)), sizes),
        row=np.concatenate([table.row for table in tables]),
        column=np.concatenate([table.column for table in tables]),
        segment=np.concatenate([table.segment for table in tables]),
    )
