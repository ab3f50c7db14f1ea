"""Make a question that its table does not answer: without the rows of the answer."""

from __future__ import annotations

from dataclasses import replace

from mate_cli.tables.aggregation import NONE
from mate_cli.tables.table import Coordinate, Example


def without_answer(example: Example) -> Example | None:
    """Return a question whose answer is cells about its table without all rows with a text of the answer in its column.

    Other rows may still answer it: without the winner, another team is the best. None if the answer is computed or
    not known, or if no row is left.
    """
    if not example.candidates or example.operator not in (None, NONE.name):
        return None
    table = example.table
    texts = {(column, table.rows[row][column].text.lower()) for row, column in example.candidates}
    kept = [
        number
        for number, row in enumerate(table.rows)
        if not any(row[column].text.lower() == text for column, text in texts)
    ]
    if not kept:
        return None
    place = {row: number for number, row in enumerate(kept)}
    previous: tuple[Coordinate, ...] = tuple((place[row], column) for row, column in example.previous if row in place)
    shorter = table.selected(kept, range(table.num_columns))
    return replace(example, table=shorter, answers=(), candidates=(), traced=(), value=None, previous=previous)
