"""Move an answer to the column that a question asks for: for "which urgent task is due first?" the task, not "yes"; for
"when is it due?" the day below "due", not the day of the invoice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mate_cli.tables.flagged_rows import flag_columns
from mate_cli.tables.queries.sheet import ColumnType, sheet_of
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.table_index import words
from mate_cli.tables.text import format_names

_ASKS_FOR_NAME = re.compile(r"(?:which|who|what)\b(?!.*\bor\b)", re.IGNORECASE)
_ASKS_FOR_TIME = re.compile(r"when\b", re.IGNORECASE)


def in_asked_column(question: str, table: Table, cells: Sequence[Coordinate]) -> list[Coordinate]:
    """Return cells of the chosen rows in the column that a question asks for, as far as its words tell; else the cells.

    For "which", "who" and "what" it is the column that tells rows apart, if each of the chosen cells stands in the
    question or is one of yes and no, and the question offers no choice ("red or blue"). For "when" it is the one of
    dates whose header the question says, if the chosen one is another.
    """
    column = None
    if _ASKS_FOR_NAME.match(question):
        column = _of_names(question, table, cells)
    elif _ASKS_FOR_TIME.match(question):
        column = _of_times(question, table, cells)
    return [*cells] if column is None else [(row, column) for row in dict.fromkeys(row for row, _ in cells)]


def _of_names(question: str, table: Table, cells: Sequence[Coordinate]) -> int | None:
    asked, flags = f" {format_names(question)} ", flag_columns(table)

    def is_said(cell: Coordinate) -> bool:
        row, column = cell
        text = format_names(table.rows[row][column].text)
        return column in flags or (bool(text) and f" {text} " in asked)

    if not all(map(is_said, cells)) or (subject := sheet_of(table).subject) is None:
        return None
    return None if any(is_said((row, subject.place)) for row, _ in cells) else subject.place


def _of_times(question: str, table: Table, cells: Sequence[Coordinate]) -> int | None:
    dates = [column for column in sheet_of(table).columns if column.kind is ColumnType.DATE]
    said = [column.place for column in dates if {*words(question)} & {*words(column.name)}]
    others = {column.place for column in dates}.difference(said)
    return said[0] if len(said) == 1 and {column for _, column in cells} <= others else None
