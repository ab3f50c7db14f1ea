"""Read a user's own table from a JSON file, in one of three shapes.

- a list of objects, one per row: the header is their keys, in order of first appearance
- a list of lists: the first is the header
- an object with ``header``, a list, and ``rows``, a list of lists

Null, NaN and missing values are empty cells.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.table import Table
from mate_cli.tables.text_files import JsonObject, read_json
from mate_cli.tables.user_limits import MAX_BYTES, check_size, table_of

_SHAPES = "a list of objects, a list of lists or {header, rows}"


def read_json_table(path: Path) -> Table:
    """Read a UTF-8 JSON file.

    Raises:
        UserError: it cannot be read, has another shape, a cell is neither text nor number, or it is too large.
    """
    return json_table(read_json(path, MAX_BYTES), path)


def json_table(content: Any, path: Path) -> Table:
    """Convert the content of a JSON file, or of a part of it, to a table.

    Args:
        path: name of the table, and of the file in errors.

    Raises:
        UserError: it has another shape, a cell is neither text nor number, or it is too large.
    """
    if isinstance(content, dict):
        table = JsonObject(content, str(path))
        return _of_lists(path, [table.list("header"), *table.list("rows")])
    if not isinstance(content, list) or not content:
        raise UserError(f"{path}: expected {_SHAPES}, found {'an empty list' if content == [] else _kind(content)}")
    return _of_objects(path, content) if isinstance(content[0], dict) else _of_lists(path, content)


def _of_objects(path: Path, rows: list[Any]) -> Table:
    check_size(path, len(rows))
    objects = [JsonObject.of(row, f"{path}: row {number}").content for number, row in enumerate(rows, start=1)]
    header = list(dict.fromkeys(key for row in objects for key in row))
    check_size(path, len(rows), len(header))
    body = [
        [_text(row.get(key), f"{path}: row {number}, key {shown(key)}") for key in header]
        for number, row in enumerate(objects, start=1)
    ]
    return table_of(path, header, body)


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
    if isinstance(value, (dict, list)):
        raise UserError(f"{where}: expected a text or a number, found {_kind(value)}")
    return json.dumps(value)


def _kind(value: Any) -> str:
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
    return names.get(type(value)) or shown(value)
