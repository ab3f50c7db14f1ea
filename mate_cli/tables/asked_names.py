"""Answer with names where a model repeats the question: for "which urgent task is due first?" the task, not "yes"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mate_cli.tables.flagged_rows import flag_columns
from mate_cli.tables.queries.sheet import Sheet
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.text import format_names

_ASKS = re.compile(r"(?:which|who|what)\b(?!.*\bor\b)", re.IGNORECASE)


def asked_names(question: str, table: Table, cells: Sequence[Coordinate]) -> list[Coordinate]:
    """Return the cells that tell the chosen rows apart, if the question begins with "which", "who" or "what" and each
    of the chosen cells stands in it or is one of yes and no.

    The chosen cells, if the question offers a choice ("red or blue"), has the other cells, too, or if no column tells
    rows apart.
    """
    subject = Sheet(table).subject
    if not cells or subject is None or not _ASKS.match(question):
        return [*cells]
    asked, flags = f" {format_names(question)} ", flag_columns(table)

    def is_said(cell: Coordinate) -> bool:
        row, column = cell
        text = format_names(table.rows[row][column].text)
        return column in flags or (bool(text) and f" {text} " in asked)

    names = [(row, subject.place) for row in dict.fromkeys(row for row, _ in cells)]
    return names if all(map(is_said, cells)) and not any(map(is_said, names)) else [*cells]
