"""Ask questions about tables without what they ask for, so that models learn that no cell answers them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypedDict

from mate_cli.tables.queries.draw import Question
from mate_cli.tables.queries.sheet import Sheet
from mate_cli.tables.table import Table

LOOK_UP = "look-up"
_BY_ROWS = (LOOK_UP, "select", "two conditions")
_LEAST = 2  # rows and columns that have to be left


class Missing(TypedDict):
    """The rows and columns that a table lacks, from 0."""

    rows: list[int]
    columns: list[int]


def missing_of(question: Question, sheet: Sheet, random: Random) -> Missing | None:
    """Return what has to be missing so that the table does not answer a question: all its rows or, of a look-up, its
    column; None for other kinds, which the rest of the table may answer, and for tables that are too small.
    """
    rows = question.query.rows.numbers(sheet)
    if question.kind == LOOK_UP and sheet.table.num_columns > _LEAST and random.random() < 0.5:
        return Missing(rows=[], columns=[question.query.column.place])
    if question.kind in _BY_ROWS and sheet.table.num_rows - len(rows) >= _LEAST:
        return Missing(rows=rows, columns=[])
    return None


def table_without(table: Table, missing: Missing) -> Table:
    """Return a table without some rows and columns; its id stays."""
    return table.selected(_others(table.num_rows, missing["rows"]), _others(table.num_columns, missing["columns"]))


def _others(number: int, left_out: Sequence[int]) -> list[int]:
    return [place for place in range(number) if place not in set(left_out)]
