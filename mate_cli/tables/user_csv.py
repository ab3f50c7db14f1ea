"""Read a user's own table from a CSV file: its encoding, its separator and the row of its header are found or given."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from mate_cli.system.errors import UserError, named
from mate_cli.tables.encodings import decoded
from mate_cli.tables.header import header_doubt
from mate_cli.tables.table import Table
from mate_cli.tables.user_content import read_content
from mate_cli.tables.user_limits import check_size, table_of

if TYPE_CHECKING:
    from _csv import Reader

_MAX_LINE = 1 << 20
TAB = "\t"
_SEPARATORS = (TAB, "|", ";", ",")  # in a tie, a comma is more likely to be part of a number
_LINES_TO_SNIFF = 20
_WORD = re.compile(r"\D*[^\W\d_]\D*")  # without a digit, as a comma may be part of a number
_LINK = re.compile(r"\[\[[^\[\]]*\]\]")  # to a passage; the bar in it separates no fields
_NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?\s*')  # the first line of some files that Excel wrote


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is written; what is None is found.

    Attributes:
        encoding: name of a codec of Python.
        separator: of the fields, one character.
        header_row: number of the row of the header, from 1, blank rows included; 0: there is none.
    """

    encoding: str | None = None
    separator: str | None = None
    header_row: int | None = None

    @classmethod
    def named(cls, encoding: str | None, separator: str | None, header_row: int | None) -> Self:
        """Return the format as the command line names it, where ``tab`` is a separator."""
        return cls(encoding, TAB if separator == "tab" else separator, header_row)


FOUND = CsvFormat()


class _Row(NamedTuple):
    """Fields of a row that is not blank; ``number`` is its place among all rows, ``line`` its last line, from 1."""

    number: int
    line: int
    fields: list[str]


def open_csv(path: Path, given: CsvFormat = FOUND) -> tuple[Table, str | None]:
    """Read a CSV file, and say in a line what was found in it that is not plain: UTF-8, commas, the header first.

    The line also says where the header looks like data.

    Headers may be empty or repeat. Lines without a text are skipped, also those of separators alone. Rows above the
    header of which only the first field has a text are the title.

    Raises:
        UserError: the file cannot be read, or decoded; it has no such header or no row; a row is not as wide as the
            header; it is too large (found without reading the rest).
    """
    text, encoding = decoded(path, read_content(path), given.encoding)
    first = list(islice(_lines(text, path), _LINES_TO_SNIFF))
    named_separator = _NAMED_SEPARATOR.fullmatch(first[0]) if first else None
    separator = given.separator or (named_separator[1] if named_separator else _separator(first))
    rows = _rows(text, separator, path)
    header_row = given.header_row
    if header_row is None:
        header_row = _header_row(rows[1:] if named_separator and len(rows) > 1 else rows)
    table = _table(path, rows, header_row)
    remarks = [_remark(path, CsvFormat(encoding, separator, header_row), given)]
    if given.header_row is None and header_row == rows[0].number:
        header, *body = (row.fields for row in rows)
        remarks.append(header_doubt(path, header, body, "set header_row=0"))
    return table, "; ".join(filter(None, remarks)) or None


def _lines(text: str, path: Path) -> Iterator[str]:
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if len(line) >= _MAX_LINE:
            raise UserError(f"{path}: line {number} is longer than {_MAX_LINE} characters; is this a CSV file?")
        if "\0" in line:
            raise UserError(f"{path}: line {number} holds a NUL byte; this is not a text file, or encoding=utf-16")
        yield line


def _rows(text: str, separator: str, path: Path) -> list[_Row]:
    """Read the rows that are not blank, of fields that blanks before their quotes leave quoted, where that is CSV."""
    if not separator.isspace():
        with suppress(csv.Error):  # a quote behind a blank may be part of a text
            return _filled(
                csv.reader(_lines(text, path), delimiter=separator, strict=True, skipinitialspace=True), path
            )
    records = csv.reader(_lines(text, path), delimiter=separator, strict=True)
    try:
        return _filled(records, path)
    except csv.Error as error:
        raise UserError(
            f"{path}: line {records.line_num} is not CSV ({named(str(error))}); is a quote left open?"
        ) from error


def _filled(records: Reader, path: Path) -> list[_Row]:
    rows: list[_Row] = []
    for number, fields in enumerate(records, start=1):
        if any(field.strip() for field in fields):
            check_size(path, len(rows), len(fields))
            rows.append(_Row(number, records.line_num, fields))
    if not rows:
        raise UserError(f"{path}: the file is empty; its first line must be the header")
    return rows


def _header_row(rows: Sequence[_Row]) -> int:
    """Return the number of the first row that is no title; at least one is left below it."""
    width = max(len(row.fields) for row in rows[:_LINES_TO_SNIFF])
    possible = rows[:-1] or rows
    return next((row for row in possible if not _is_title(row.fields, width)), possible[-1]).number


def _is_title(fields: Sequence[str], width: int) -> bool:
    """Return whether a row is a title: one field, or as programs for tables write it, a text and empty fields."""
    if len(fields) == 1:
        return width > 1
    return len(fields) > 2 and bool(fields[0].strip()) and not any(field.strip() for field in fields[1:])


def _table(path: Path, rows: Sequence[_Row], header_row: int) -> Table:
    above, body = ([row for row in rows if (row.number < header_row) == is_above] for is_above in (True, False))
    if header_row == 0:
        header = [f"column {number}" for number in range(1, len(body[0].fields) + 1)]
    elif body and body[0].number == header_row:
        header = body.pop(0).fields
    else:
        raise UserError(f"{path}: header_row={header_row}: there is no such row, or it is blank; name another")
    for row in body:
        if len(row.fields) != len(header):
            fields = f"{len(row.fields)} field{'s' if len(row.fields) > 1 else ''}"
            remedy = _remedy(body, len(header), len(row.fields))
            raise UserError(f"{path}: line {row.line} has {fields}, the header has {len(header)}; {remedy}")
    titles = [row.fields[0].strip() for row in above if _is_title(row.fields, len(header))]
    title = " ".join(text for text in titles if not _NAMED_SEPARATOR.fullmatch(text))
    return table_of(path, header, [row.fields for row in body], title)


def _remedy(body: Sequence[_Row], width: int, found: int) -> str:
    """Return what to do about a row with ``found`` fields below a header with ``width``."""
    is_wider = found > width
    if len(body) > 1 and len({len(row.fields) for row in body}) == 1 and found > 1:
        otherwise = "quote a field that holds the separator" if is_wider else "leave out headers"
        return f"set header_row={body[0].number} if that is the header, or {otherwise}"
    return "quote a field that holds the separator" if is_wider else "remove the line, or set separator="


def _separator(lines: Sequence[str]) -> str:
    """Choose the separator that makes most of the first lines as wide as the first.

    In a tie it is one with which all quotes enclose whole fields, and then the one that makes them widest.

    Where none splits the first line, or that one makes some line of another width, the first line may be a title: then
    the one that makes all lines below it equally wide. A comma may also be part of a text, so it must make three fields
    of each, or a blank line be below the title, or the commas look like those between fields.
    """
    unlinked = [_LINK.sub("", line) for line in lines]
    widths, is_quoted = {}, {}
    for separator in _SEPARATORS:
        widths[separator], is_quoted[separator] = _widths(unlinked, separator)

    def fitness(separator: str) -> tuple[bool, int, bool, int]:
        own = [width for width in widths[separator] if width] or [0]
        return own[0] > 1, sum(width == own[0] for width in own), is_quoted[separator], own[0]

    best = max(_SEPARATORS, key=fitness)
    is_split = fitness(best)[0]
    if is_split and len(set(filter(None, widths[best]))) == 1:
        return best
    for separator, own in widths.items():
        titles = next((number for number, width in enumerate(own) if width > 1), len(own))
        below = [width for width in own[titles:] if width]
        if len(set(below)) != 1 or (is_split and not _is_header(widths[best], titles, len(below))):
            continue
        is_sure = separator != "," or 0 in own[:titles]
        if is_sure or below[0] > 2 or _separates(list(csv.reader(unlinked))[titles:]):
            return separator
    return best if is_split or fitness(",") != fitness(best) else ","


def _is_header(widths: Sequence[int], line: int, rows: int) -> bool:
    """Return whether a line may be the header below titles, which are few, of a file that another separator splits.

    Args:
        widths: the fields that the other separator makes of each line: of the header one.
        rows: that are not blank, with the header.
    """
    titles = [width for width in widths[:line] if width]
    return 0 < len(titles) < rows and widths[line : line + 1] == [1]


def _separates(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether commas look like separators: without blanks behind them, beside a word in the first row."""
    has_blanks = any(field.startswith(" ") for row in rows for field in row[1:])
    return not has_blanks and any(map(_WORD.fullmatch, rows[0]))


def _widths(lines: Sequence[str], separator: str) -> tuple[list[int], bool]:
    """Return the number of fields of each line, and whether all of the quotes stand around fields."""
    skips = not separator.isspace()  # as in _rows
    for strict, skip in ((True, skips), (True, False), (False, False)):
        with suppress(csv.Error):
            reader = csv.reader(lines, delimiter=separator, strict=strict, skipinitialspace=skip)
            return [len(fields) for fields in reader], strict
    return [], False  # reported where the rows are read


def _remark(path: Path, found: CsvFormat, given: CsvFormat) -> str | None:
    said = []
    if given.encoding is None and found.encoding != "utf-8":
        said.append(f"encoding={found.encoding}")
    if given.separator is None and found.separator != (TAB if path.suffix.lower() == ".tsv" else ","):
        said.append(f"separator={'tab' if found.separator == TAB else found.separator}")
    if given.header_row is None and found.header_row != 1:
        said.append(f"header_row={found.header_row}")
    return f"{path}: read with {' '.join(said)}, as its content suggests; if that is wrong, set it" if said else None
