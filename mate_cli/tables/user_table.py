"""Reads a user's own table, for ``mate predict``, in the format that the name of its file ends in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.table_place import table_place
from mate_cli.tables.user_arrow import read_parquet
from mate_cli.tables.user_csv import read_csv
from mate_cli.tables.user_database import duckdb_names, read_duckdb, read_sqlite, sqlite_names
from mate_cli.tables.user_html import read_html
from mate_cli.tables.user_json import read_json_table
from mate_cli.tables.user_workbook import read_workbook, sheet_names

_FILES = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".html": read_html,
    ".htm": read_html,
    ".json": read_json_table,
    ".parquet": read_parquet,
}

# What reads the part of a name, or the only one, and what names the parts.
_FILES_OF_PARTS: dict[str, tuple[Callable[[Path, str | None], Table], Callable[[Path], list[str]]]] = {
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), (read_workbook, sheet_names)),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), (read_sqlite, sqlite_names)),
    ".duckdb": (read_duckdb, duckdb_names),
}

ENDINGS = (*_FILES, *_FILES_OF_PARTS)
"""What the names of files with tables end in."""


def read_table(place: str | Path) -> Table:
    """Read the table at ``FILE`` or ``FILE#PART`` (``table_place``); a name without an ending means CSV.

    Raises:
        UserError: the ending is another one, the format has no parts, or the file is broken.
    """
    file, part = table_place(str(place))
    path = Path(file)
    ending = path.suffix.lower() or ".csv"
    if ending not in ENDINGS:
        endings = ", ".join(ENDINGS)
        raise UserError(f"table={place}: a table is a file in {endings}, not {ending}; save it as one of them")
    if part is not None and ending in _FILES:
        raise UserError(f"table={place}: a file in {ending} is one table; leave out #{part}")
    return read_part(path, part)


def read_part(path: Path, part: str | None = None) -> Table:
    """Read a file, or the part of that name of it; its ending is one of ``ENDINGS``, or there is none.

    Raises:
        UserError: the file is broken, or has no such part.
    """
    ending = path.suffix.lower() or ".csv"
    return _FILES[ending](path) if ending in _FILES else _FILES_OF_PARTS[ending][0](path, part)


def table_parts(path: Path) -> list[str | None]:
    """Return the names of the sheets or tables of a file that has several; ``[None]`` where it is one table.

    Raises:
        UserError: the file is broken.
    """
    if (ending := path.suffix.lower()) not in _FILES_OF_PARTS:
        return [None]
    names = _FILES_OF_PARTS[ending][1](path)
    return list(names) if len(names) > 1 else [None]
