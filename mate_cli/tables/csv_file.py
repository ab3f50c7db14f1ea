"""Character-separated files of a release: every mistake names the file and the line."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mate_cli.system.errors import UserError, named
from mate_cli.tables.file_text import read_text
from mate_cli.tables.table import Cell, Table

Dialect = Mapping[str, Any]
"""Arguments of ``csv.reader``: the dialect of a file."""


def read_records(path: Path, columns: Sequence[str], dialect: Dialect) -> Iterator[tuple[str, dict[str, str]]]:
    """Where each record stands, for messages, and its fields by the names in the file's first line.

    Raises:
        UserError: the file cannot be read, one of ``columns`` is missing or there twice, or a record is not as wide
            as the first line.
    """
    (_, header), *rows = _rows(path, dialect)
    for column in columns:
        if column not in header:
            there = named(", ".join(header)[:200])
            raise UserError(f"{path}: column {column!r} is missing; the first line names {there}")
        if header.count(column) > 1:
            raise UserError(f"{path}: column {column!r} is there twice; leave one of them")
    for line, fields in rows:
        yield f"{path}: line {line}", dict(zip(header, fields, strict=True))


def read_table(
    path: Path, table_id: str, dialect: Dialect, title: str = "", clean: Callable[[str], str] = str
) -> Table:
    """A table whose header is the first line; ``clean`` is applied to the texts of its body.

    Raises:
        UserError: the file cannot be read, or a row is not as wide as the header.
    """
    (_, header), *rows = _rows(path, dialect)
    body = tuple(tuple(Cell(clean(text)) for text in fields) for _, fields in rows)
    return Table(table_id, tuple(map(Cell, header)), body, title)


def _rows(path: Path, dialect: Dialect) -> list[tuple[int, list[str]]]:
    """The rows, each with the line it ends on, at least one and all of one width; blank lines are passed over."""
    lines = csv.reader(io.StringIO(read_text(path), newline=""), **dialect)
    rows: list[tuple[int, list[str]]] = []
    try:
        for fields in filter(None, lines):
            rows.append((lines.line_num, fields))
            if len(fields) != len(rows[0][1]):
                raise UserError(
                    f"{path}: line {lines.line_num}: {len(fields)} fields, the first line has {len(rows[0][1])}"
                )
    except csv.Error as error:
        raise UserError(f"{path}: line {lines.line_num}: cannot be read ({named(str(error))})") from error
    if not rows:
        raise UserError(f"{path}: the file is empty; fetch it again")
    return rows
