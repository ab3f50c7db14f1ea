"""Files of users, written and read again."""

from __future__ import annotations

from pathlib import Path

from mate_cli.tables.table import Table
from mate_cli.tables.user_table import read_table


def texts_of(table: Table) -> list[list[str]]:
    """Return the texts of a table, the header first."""
    return [[cell.text for cell in row] for row in (table.header, *table.rows)]


def read_written(folder: Path, name: str, content: bytes | str) -> list[list[str]]:
    """Write a file and return the texts of its table."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return texts_of(read_table(path))
