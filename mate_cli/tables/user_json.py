"""Read a user's own table from a JSON file, in one of these shapes.

- a list of objects, one per row: the header is their keys, in order of first appearance
- a list of lists: the first is the header
- an object with ``header``, a list, and ``rows``, a list of lists
- an object of columns: their headers, and lists of their cells, equally long
- JSON lines: objects or lists as in the first two, one a line
- what ``DataFrame.to_json`` of pandas writes with ``orient`` split, table, columns or index; of the last two, an object
  of objects, only where the keys of one level are the numbers of rows

Null, NaN and missing values are empty cells. What objects in a row hold are columns of their own ("address.city"), the
texts and numbers of a list are one cell. Beside a single list of objects the rest of an object is left out, as in
answers of web services.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.float_text import float_text
from mate_cli.tables.table import Table
from mate_cli.tables.text_files import JsonObject, parse_json, utf8_text
from mate_cli.tables.user_content import read_content
from mate_cli.tables.user_limits import check_size, table_of

_SHAPES = "a list of objects, a list of lists, {header, rows}, {column: its cells} or an object a line"
_KEYS_SHOWN = 5
_DEEPEST = 8  # objects within objects


def read_json_table(path: Path) -> Table:
    """Read a UTF-8 JSON file.

    Raises:
        UserError: it cannot be read, has another shape, a cell is neither text nor number, or it is too large.
    """
    text = utf8_text(read_content(path), path)
    try:
        content = parse_json(text, str(path))
    except UserError as error:
        if not _is_lines(error.__cause__):
            raise
        content = _lines(text, path)
    return json_table(content, path)


def _is_lines(error: BaseException | None) -> bool:
    """Return whether a text is no JSON because it goes on, after one line of it, with another object or list."""
    if not isinstance(error, json.JSONDecodeError) or error.msg != "Extra data":
        return False
    before, next_value = error.doc[: error.pos], error.doc[error.pos]
    return before.rstrip(" \t\r").endswith("\n") and "\n" not in before.strip() and next_value in "{["


def _lines(text: str, path: Path) -> list[Any]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    check_size(path, len(lines) - 1)  # the first may be a header
    return [parse_json(line, f"{path}: line {number}") for number, line in lines]


def json_table(content: Any, path: Path) -> Table:
    """Convert the content of a JSON file, or of a part of it, to a table.

    Args:
        path: name of the table, and of the file in errors.

    Raises:
        UserError: it has another shape, a cell is neither text nor number, or it is too large.
    """
    if isinstance(content, dict):
        return _of_object(path, JsonObject(content, str(path)))
    if not isinstance(content, list) or not content:
        raise UserError(f"{path}: expected {_SHAPES}, found {'an empty list' if content == [] else _kind(content)}")
    return _of_objects(path, content) if isinstance(content[0], dict) else _of_lists(path, content)


def _of_object(path: Path, table: JsonObject) -> Table:
    if table.content and all(isinstance(value, dict) for value in table.content.values()):
        return _of_nested(path, table.content)
    if "data" in table and "columns" in table:
        return _of_split(path, table)
    if "data" in table and "schema" in table:
        return _of_described(path, table)
    if "header" in table:
        return _of_lists(path, [table.list("header"), *table.list("rows")])
    if table.content and all(map(_are_cells, table.content.values())):
        return _of_columns(path, table.content)
    if len(lists := [value for value in table.content.values() if _are_objects(value)]) == 1:
        return _of_objects(path, lists[0])
    keys = [shown(key) for key in table][:_KEYS_SHOWN]
    found = f"an object with the key{'s' if len(keys) > 1 else ''} {', '.join(keys)}" if keys else "an empty object"
    raise UserError(f"{path}: expected {_SHAPES}, found {found}{', ...' if len(table.content) > len(keys) else ''}")


def _are_cells(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(cell, (dict, list)) for cell in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _of_columns(path: Path, content: dict[str, list[Any]]) -> Table:
    (first, cells), *others = content.items()
    for key, column in others:
        if len(column) != len(cells):
            sizes = f"key {shown(key)} has {len(column)} cells, {shown(first)} has {len(cells)}"
            raise UserError(f"{path}: {sizes}; write as many in each, null for those that are missing")
    check_size(path, len(cells), len(content))
    return _of_lists(path, [list(content), *map(list, zip(*content.values(), strict=True))])


def _of_split(path: Path, table: JsonObject) -> Table:
    """Read columns, data and the index, which is a column without a header unless it numbers the rows."""
    header, rows, index = table.list("columns"), table.list("data"), table.content.get("index")
    if isinstance(index, list) and len(index) == len(rows) and not all(isinstance(label, int) for label in index):
        header = ["", *header]
        rows = [[label, *row] if isinstance(row, list) else row for label, row in zip(index, rows, strict=True)]
    return _of_lists(path, [header, *rows])


def _of_described(path: Path, table: JsonObject) -> Table:
    """Read rows beside their schema, without an index that has no name."""
    unnamed = "index" if table.object("schema").content.get("primaryKey") == ["index"] else None
    rows = [JsonObject.of(row, f"{path}: row {number}") for number, row in enumerate(table.list("data"), start=1)]
    return _of_objects(path, [{key: row.content[key] for key in row if key != unnamed} for row in rows])


def _of_nested(path: Path, content: dict[str, dict[str, Any]]) -> Table:
    outer, inner = list(content), list(dict.fromkeys(key for value in content.values() for key in value))
    if _numbering(outer) == _numbering(inner):
        raise UserError(
            f"{path}: an object of objects, of which nothing tells whether the keys are rows or columns; write it with "
            "to_json(orient='records')"
        )
    if _numbering(outer) > _numbering(inner):
        return _of_objects(path, list(content.values()))
    check_size(path, len(inner), len(outer))
    return _of_objects(path, [{key: column.get(row) for key, column in content.items()} for row in inner])


def _numbering(keys: Sequence[str]) -> int:
    """Return how much keys look like numbers of rows: 2 if all from 0 are there, 1 if they are numbers, else 0."""
    if not all(key.isdecimal() for key in keys):
        return 0
    return 2 if set(keys) == set(map(str, range(len(keys)))) else 1


def _of_objects(path: Path, rows: list[Any]) -> Table:
    check_size(path, len(rows))
    places = [f"{path}: row {number}" for number in range(1, len(rows) + 1)]
    objects = [_unfolded(JsonObject.of(row, place).content, place) for place, row in zip(places, rows, strict=True)]
    header = list(dict.fromkeys(key for row in objects for key in row))
    check_size(path, len(rows), len(header))
    body = [
        [_text(row.get(key), f"{place}, key {shown(key)}") for key in header]
        for place, row in zip(places, objects, strict=True)
    ]
    return table_of(path, header, body)


def _unfolded(row: dict[str, Any], where: str, levels: int = _DEEPEST) -> dict[str, Any]:
    """Return a row with the values of the objects in it under keys such as "address.city"."""
    values: dict[str, Any] = {}
    for key, value in row.items():
        own = {key: value}
        if isinstance(value, dict) and levels:
            own = {f"{key}.{inner}": part for inner, part in _unfolded(value, where, levels - 1).items()}
        if both := own.keys() & values.keys():
            raise UserError(f"{where}: {shown(min(both))} is a key, and an object's within another; rename one of them")
        values |= own
    return values


def _of_lists(path: Path, rows: list[Any]) -> Table:
    texts = []
    for number, row in enumerate(rows):
        where = f"{path}: row {number}" if number else f"{path}: the header"
        if not isinstance(row, list):
            raise UserError(f"{where}: expected a list of cells, found {_kind(row)}; a table is {_SHAPES}")
        texts.append([_text(value, f"{where}, cell {place}") for place, value in enumerate(row, start=1)])
    return table_of(path, texts[0], texts[1:])


def _text(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list) and not any(isinstance(part, (dict, list)) for part in value):
        return ", ".join(filter(None, (_text(part, where) for part in value)))
    if isinstance(value, (dict, list)):
        raise UserError(f"{where}: expected a text or a number, found {_kind(value)}")
    return float_text(value) if isinstance(value, float) else json.dumps(value)


def _kind(value: Any) -> str:
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
    return names.get(type(value)) or shown(value)
