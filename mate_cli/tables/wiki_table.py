"""Parse tables of Wikipedia with links, and the linked passages, in the JSON format of HybridQA and OTT-QA."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import unquote

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text_files import JsonObject


def parse_table(content: JsonObject, table_id: str) -> Table:
    """Parse an object with ``header``, ``data`` and an optional ``title``; a cell is ``[text, [link, ...]]``.

    Raises:
        UserError: it has another structure, or a row is not as wide as the header.
    """
    header = _parse_row(content.list("header"), f"{content.where}, key 'header'")
    rows = []
    for number, row in enumerate(content.list("data"), start=1):
        where = f"{content.where}, key 'data', row {number}"
        cells = _parse_row(row, where)
        if len(cells) != len(header):
            raise UserError(f"{where}: {len(cells)} cells, the header has {len(header)}")
        rows.append(cells)
    title = content.text("title") if "title" in content else ""
    return Table(id=table_id, header=header, rows=tuple(rows), title=title)


def _parse_row(cells: Any, where: str) -> tuple[Cell, ...]:
    if not isinstance(cells, list):
        raise UserError(f"{where}: expected a list of cells, found {type(cells).__name__}")
    return tuple(_parse_cell(cell, f"{where}, cell {number}") for number, cell in enumerate(cells, start=1))


def _parse_cell(cell: Any, where: str) -> Cell:
    match cell:
        case [str(text), list(links)] if all(isinstance(link, str) for link in links):
            return Cell(text, tuple(dict.fromkeys(sys.intern(unquote(link)) for link in links)))
    raise UserError(f"{where}: expected [text, [link, ...]], found {shown(cell)}")


def parse_passages(content: JsonObject, shared: dict[tuple[str, str], str]) -> dict[str, str]:
    """Parse link -> passage. Tables that link to the same page, a quarter of them, share its text by ``shared``.

    Raises:
        UserError: a passage is not a text.
    """
    passages = {}
    for link in content:
        key, text = sys.intern(unquote(link)), content.text(link)
        passages[key] = shared.setdefault((key, text), text)
    return passages
