"""Read a user's own table from a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from mate_cli.system.errors import UserError, named
from mate_cli.tables.table import Table
from mate_cli.tables.user_limits import check_bytes, check_size, table_of

_MAX_LINE = 1 << 20
_DELIMITERS = ("\t", ";", ",")  # in a tie, a comma is more likely to be part of a number
_LINES_TO_SNIFF = 20


def read_csv(path: Path) -> Table:
    """Read a UTF-8 CSV file with fields separated by commas, semicolons or tabs.

    The first row is the header; headers may be empty or repeat. Blank lines are skipped.

    Raises:
        UserError: the file cannot be read or is not UTF-8; it has no header or no row; a row is not as wide as the
            header; it is too large (found without reading the rest).
    """
    try:
        with path.open("rb") as file:
            header, *rows = _rows(file, path)
    except OSError as error:
        raise UserError(f"table={path}: cannot be read ({error.strerror})") from error
    return table_of(path, header, rows)


def _rows(file: BinaryIO, path: Path) -> list[list[str]]:
    """Return the header and the rows, all of one width."""
    lines = _lines(file, path)
    first = list(islice(lines, _LINES_TO_SNIFF))
    records = csv.reader(chain(first, lines), delimiter=_delimiter(first), strict=True)
    rows: list[list[str]] = []
    try:
        for fields in filter(None, records):
            if rows and len(fields) != len(rows[0]):
                raise UserError(
                    f"{path}: line {records.line_num} has {len(fields)} field{'s' if len(fields) > 1 else ''}, "
                    f"the header has {len(rows[0])}; quote a field that holds the delimiter"
                )
            check_size(path, len(rows), len(fields))
            rows.append(fields)
    except csv.Error as error:
        raise UserError(
            f"{path}: line {records.line_num} is not CSV ({named(str(error))}); is a quote left open?"
        ) from error
    if not rows:
        raise UserError(f"{path}: the file is empty; its first line must be the header")
    return rows


def _lines(file: BinaryIO, path: Path) -> Iterator[str]:
    """Yield the lines of the file as text; errors name the line."""
    number = size = 0
    while raw := file.readline(_MAX_LINE):
        number, size = number + 1, size + len(raw)
        check_bytes(path, size)
        if len(raw) == _MAX_LINE:
            raise UserError(f"{path}: line {number} is longer than {_MAX_LINE} bytes; is this a CSV file?")
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: line {number} is not UTF-8; save the file as UTF-8") from error
        if "\0" in text:
            raise UserError(f"{path}: line {number} holds a NUL byte; this is not a text file in UTF-8")
        yield text


def _delimiter(lines: list[str]) -> str:
    """Choose the delimiter that makes most of the first lines as wide as the header; in a tie, the widest."""

    def fitness(delimiter: str) -> tuple[bool, int, int]:
        widths = _widths(lines, delimiter) or [0]
        return widths[0] > 1, sum(width == widths[0] for width in widths), widths[0]

    return max(_DELIMITERS, key=fitness)


def _widths(lines: Iterable[str], delimiter: str) -> list[int]:
    try:
        return [len(fields) for fields in csv.reader(lines, delimiter=delimiter) if fields]
    except csv.Error:  # reported where the rows are read
        return []
