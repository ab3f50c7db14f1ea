"""Reads a user's own table, for ``mate predict``, in the format that the name of its file ends in."""

from __future__ import annotations

from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.table_place import table_place
from mate_cli.tables.user_arrow import read_parquet
from mate_cli.tables.user_csv import read_csv
from mate_cli.tables.user_database import read_duckdb, read_sqlite
from mate_cli.tables.user_html import read_html
from mate_cli.tables.user_json import read_json_table
from mate_cli.tables.user_workbook import read_workbook

_FILES = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".html": read_html,
    ".htm": read_html,
    ".json": read_json_table,
    ".parquet": read_parquet,
}

_FILES_OF_PARTS = {
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), read_workbook),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), read_sqlite),
    ".duckdb": read_duckdb,
}


def read_table(place: str | Path) -> Table:
    """Read the table at ``FILE`` or ``FILE#PART`` (``table_place``); a name without an ending means CSV.

    Raises:
        UserError: the ending is another one, the format has no parts, or the file is broken.
    """
    file, part = table_place(str(place))
    path = Path(file)
    ending = path.suffix.lower() or ".csv"
    if ending in _FILES_OF_PARTS:
        return _FILES_OF_PARTS[ending](path, part)
    if ending not in _FILES:
        endings = ", ".join((*_FILES, *_FILES_OF_PARTS))
        raise UserError(f"table={place}: a table is a file in {endings}, not {ending}; save it as one of them")
    if part is not None:
        raise UserError(f"table={place}: a file in {ending} is one table; leave out #{part}")
    return _FILES[ending](path)
