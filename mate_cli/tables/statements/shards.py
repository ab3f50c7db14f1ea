"""Tables as small as statements are made of (spec 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mate_cli.tables.table import Table

_MOST_CELLS = 50
_FEWEST = 2


def shards(table: Table) -> list[Table]:
    """The table, halved by its rows until it has at most 50 cells; its own id, or one with the number of the part.

    Parts with fewer than two rows go, so that a table without two rows and two columns has none, nor one of more than
    25 columns.
    """
    if table.num_columns < _FEWEST:
        return []
    parts = list(_halves(table))
    if len(parts) == 1:
        return parts
    return [replace(part, id=f"{table.id}-{number}") for number, part in enumerate(parts)]


def _halves(table: Table) -> Iterator[Table]:
    if table.num_rows < _FEWEST:
        return
    if table.num_rows <= _MOST_CELLS // table.num_columns:
        yield table
        return
    middle = table.num_rows // 2
    for rows in (table.rows[:middle], table.rows[middle:]):
        yield from _halves(replace(table, rows=rows))
