"""Read UTF-8, JSON and CSV files of users and of releases; every error names the file and the place in it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.table import Cell, Table

_T = TypeVar("_T")
Dialect = Mapping[str, Any]
"""Keyword arguments of ``csv.reader``."""

MAX_BYTES = 1 << 30
_CHUNK_BYTES = 1 << 18
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_text(path: Path) -> str:
    """Read a UTF-8 text file and keep its line ends.

    Raises:
        UserError: the file cannot be read, is larger, or is not UTF-8.
    """
    return utf8_text(read_bytes(path), path)


def utf8_text(content: bytes, path: Path) -> str:
    """Decode the content of a file; keep its line ends, drop a byte order mark.

    Raises:
        UserError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8, or fetch it again") from error


def read_bytes(path: Path) -> bytes:
    """Read a file; stop after ``MAX_BYTES``, so that an endless file ends too.

    Raises:
        UserError: the file cannot be read, or is larger.
    """
    try:
        with path.open("rb") as file:
            chunks, size = [], 0
            while chunk := file.read(_CHUNK_BYTES):
                chunks.append(chunk)
                size += len(chunk)
                if size > MAX_BYTES:
                    raise UserError(f"{path}: larger than {MAX_BYTES >> 20} MiB; split it into smaller files")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    return b"".join(chunks)


def has_lone_surrogate(text: str) -> bool:
    """Return whether a text holds half of a surrogate pair, which an escape can make and no encoding can write."""
    return _SURROGATE.search(text) is not None


def read_json(path: Path) -> Any:
    """Read a UTF-8 JSON file.

    Raises:
        UserError: the file cannot be read, is larger, is not UTF-8, or is not valid JSON (for instance truncated).
    """
    return parse_json(read_text(path), str(path))


def parse_json(text: str, where: str) -> Any:
    """Parse a JSON text; ``where`` names it in errors.

    Raises:
        UserError: it is not valid JSON, or holds a lone surrogate, a number too long to convert, or too deep a nesting.
    """
    try:
        content = json.loads(text)
        if _ESCAPED_SURROGATE.search(text):  # it may be a whole pair
            json.dumps(content, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno} (character {error.pos} of {len(error.doc)})"
        is_cut = error.pos >= len(error.doc.rstrip()) or "Unterminated" in error.msg
        hint = "truncated? write or fetch it again" if is_cut else "correct it there, or fetch it again"
        raise UserError(f"{where}: not valid JSON at {place}: {error.msg}; {hint}") from error
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end]
        raise UserError(f"{where}: not usable JSON, half a character (lone surrogate) after {near!r}") from error
    except ValueError as error:  # a number of thousands of digits
        raise UserError(f"{where}: not usable JSON ({error})") from error
    except RecursionError as error:
        raise UserError(f"{where}: not usable JSON, nested too deeply") from error
    return content


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object with its place, which every error names.

    Raises:
        UserError: in all methods, if a key is missing or its value has another type.
    """

    content: dict[str, Any]
    where: str

    @classmethod
    def of(cls, content: Any, where: str) -> JsonObject:
        if not isinstance(content, dict):
            raise UserError(f"{where}: expected a JSON object, found {type(content).__name__}")
        return cls(content, where)

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def text(self, key: str) -> str:
        return self._value(key, str, "text")

    def object(self, key: str) -> JsonObject:
        return JsonObject(self._value(key, dict, "a JSON object"), f"{self.where}, key {shown(key)}")

    def list(self, key: str) -> list[Any]:
        return self._value(key, list, "a list")

    def _value(self, key: str, kind: type[_T], words: str) -> _T:
        if key not in self.content:
            raise UserError(f"{self.where}: key {shown(key)} is missing")
        value = self.content[key]
        if not isinstance(value, kind):
            raise UserError(f"{self.where}, key {shown(key)}: expected {words}, found {type(value).__name__}")
        return value


def read_records(path: Path, columns: Sequence[str], dialect: Dialect) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the records of a UTF-8 file; see ``records_of``.

    Raises:
        UserError: the file cannot be read, or as ``records_of``.
    """
    yield from records_of(read_text(path), path, columns, dialect)


def records_of(text: str, path: Path, columns: Sequence[str], dialect: Dialect) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each record, for errors, and its fields by the column names of the first line.

    Args:
        text: the content of the file ``path``.

    Raises:
        UserError: one of ``columns`` is missing or repeated, or a record is not as wide as the first line.
    """
    (_, header), *rows = _csv_rows(text, path, dialect)
    for column in columns:
        if column not in header:
            names = named(", ".join(header)[:200])
            raise UserError(f"{path}: column {column!r} is missing; the first line names {names}")
        if header.count(column) > 1:
            raise UserError(f"{path}: column {column!r} is repeated; keep one of them")
    for line, fields in rows:
        yield f"{path}: line {line}", dict(zip(header, fields, strict=True))


def read_table(
    path: Path, table_id: str, dialect: Dialect, title: str = "", clean: Callable[[str], str] = str
) -> Table:
    """Read a table whose header is the first line; ``clean`` is applied to the texts of its body.

    Raises:
        UserError: the file cannot be read, or a row is not as wide as the header.
    """
    (_, header), *rows = _csv_rows(read_text(path), path, dialect)
    body = tuple(tuple(Cell(clean(text)) for text in fields) for _, fields in rows)
    return Table(table_id, tuple(map(Cell, header)), body, title)


def _csv_rows(text: str, path: Path, dialect: Dialect) -> list[tuple[int, list[str]]]:
    """Return the rows, each with its last line number: at least one, all of one width, without blank lines."""
    lines = csv.reader(io.StringIO(text, newline=""), **dialect)
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
