"""What a user's table may hold, whatever the format of its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mate_cli.errors import UserError
from mate_cli.tables.table import Cell, Table

MAX_ROWS = 8192
"""A single column of this many rows fills the longest input that the models are measured with."""

MAX_COLUMNS = 1024
_MAX_BYTES = 1 << 25


def table_of(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Table:
    """The table of a file, as wide everywhere as its header; blanks around its texts go.

    Raises:
        UserError: it has no column or no row, too many, or a row of another width.
    """
    if not header:
        raise UserError(f"{path}: the table has no columns")
    if not rows:
        raise UserError(f"{path}: no rows below the header")
    if len(rows) > MAX_ROWS:
        raise too_many_rows(path)
    if len(header) > MAX_COLUMNS:
        raise UserError(f"{path}: more than {MAX_COLUMNS} columns; ask about a table of at most {MAX_COLUMNS}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise UserError(f"{path}: row {number} has {len(row)} cells, the header has {len(header)}")
    return Table(path.name, _cells(header), tuple(map(_cells, rows)), title or path.stem)


def too_many_rows(path: Path, limit: int = MAX_ROWS) -> UserError:
    """What to say of a table with more rows than ``limit``."""
    return UserError(f"{path}: more than {limit} rows; ask about a table of at most {limit}")


def check_file(path: Path) -> None:
    """Make sure that a file can be read whole.

    Raises:
        UserError: it cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            if file.seek(0, 2) > _MAX_BYTES:
                raise UserError(f"{path}: larger than {_MAX_BYTES >> 20} MiB; ask about a smaller table")
    except OSError as error:
        raise UserError(f"table={path}: cannot be read ({error.strerror or error})") from error


def _cells(texts: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(Cell(text.strip()) for text in texts)
