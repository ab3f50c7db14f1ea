"""Read passages beside a user's table, for ``mate predict``.

The passages are one JSON object, {key: passage}. A cell links to them as in a wiki: ``[[key]]`` shows the key and links
to its passage, ``[[key|words]]`` shows other words. A cell may have other text and several links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text_files import JsonObject, read_json

_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")


def read_passages(path: Path) -> dict[str, str]:
    """Read key -> passage.

    Raises:
        UserError: the file cannot be read, or is not an object of texts.
    """
    content = JsonObject.of(read_json(path), str(path))
    return {key: content.text(key) for key in content}


def linked(table: Table) -> Table:
    """Return the table with the links in its cells' texts parsed, header included."""
    rows = tuple(tuple(_linked(cell) for cell in row) for row in table.rows)
    return replace(table, header=tuple(_linked(cell) for cell in table.header), rows=rows)


def matched_passages(path: Path, passages: dict[str, str], table: Table) -> tuple[dict[str, str], list[str]]:
    """Return the passages that the table links to, and the keys that no cell links to.

    Raises:
        UserError: a cell links to a missing passage.
    """
    missing = [f"{key!r} ({where})" for where, key in _links(table) if key not in passages]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(f"{path}: no passage for the link {missing[0]}{more}; add it, or remove the brackets")
    used = {key: passages[key] for _, key in _links(table)}
    return used, [key for key in passages if key not in used]


def _linked(cell: Cell) -> Cell:
    if not (links := list(_LINK.finditer(cell.text))):
        return cell
    keys = (match.group(1).strip() for match in links)
    return Cell(_LINK.sub(_words, cell.text).strip(), tuple(dict.fromkeys(keys)))


def _words(link: re.Match[str]) -> str:
    return (link.group(1) if link.group(2) is None else link.group(2)).strip()


def _links(table: Table) -> Iterable[tuple[str, str]]:
    """Yield the place of each link, in words, and its key."""
    for number, row in enumerate((table.header, *table.rows)):
        place = f"row {number - 1}" if number else "the header"
        for column, cell in zip(table.header, row, strict=True):
            yield from ((f"column {column.text!r} of {place}", key) for key in cell.links)
