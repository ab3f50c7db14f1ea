"""Size limits of a user's table, in any file format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.amounts import numbered_cells
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.table_place import plain_path

MAX_ROWS = 1 << 16
"""Rows that questions name are found among so many in seconds; all of them fit no model."""

MAX_COLUMNS = 1024
MAX_CELLS = 1 << 20
MAX_BYTES = 1 << 25

_MINUS = re.compile(r"^[\u2212\u2012\u2013](?=\W?\d)")  # before a number, with a currency between perhaps


def table_of(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Table:
    """Build the table of a file and strip its texts; a minus of typographers becomes "-", which models read.

    Raises:
        UserError: it has no column or no row, too many, or a row of another width than the header.
    """
    if not header:
        raise UserError(f"{path}: the table has no columns")
    if not rows:
        raise UserError(f"{path}: no rows below the header")
    check_size(path, len(rows), len(header))
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise UserError(f"{path}: row {number} has {len(row)} cells, the header has {len(header)}")
    body = [[_text(text) for text in row] for row in rows]
    names = tuple(Cell(_text(text)) for text in header)
    return Table(path.name, names, numbered_cells(body), title or plain_path(path).stem, everyday=True)


def check_size(path: Path, rows: int = 0, columns: int = 0, cells: int = 0) -> None:
    """Check that a table is not too large, before its cells are built.

    Args:
        rows: without the header.
        cells: if they are more than rows times columns.

    Raises:
        UserError: it is too large.
    """
    cells = max(cells, rows * columns)
    sizes = {"rows": (rows, MAX_ROWS), "columns": (columns, MAX_COLUMNS), "cells": (cells, MAX_CELLS)}
    for name, (size, limit) in sizes.items():
        if size > limit:
            raise UserError(f"{path}: more than {limit} {name}; ask about a table of at most {limit}")


def file_size(path: Path) -> int:
    """Return the bytes of a file.

    Raises:
        UserError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.seek(0, 2)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error


def check_bytes(path: Path, size: int) -> None:
    """
    Raises:
        UserError: ``size``, of the file or of its texts, is too large.
    """
    if size > MAX_BYTES:
        raise UserError(f"{path}: larger than {MAX_BYTES >> 20} MiB; ask about a smaller table")


def _text(text: str) -> str:
    return _MINUS.sub("-", text.strip())
