"""Reads a user's own table, for ``mate predict``, in the format that the name of its file ends in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.table_place import COMPRESSIONS, plain_path, table_place
from mate_cli.tables.user_arrow import read_parquet
from mate_cli.tables.user_csv import FOUND, CsvFormat, open_csv
from mate_cli.tables.user_database import duckdb_names, read_duckdb, read_sqlite, sqlite_names
from mate_cli.tables.user_html import read_html
from mate_cli.tables.user_json import read_json_table
from mate_cli.tables.user_workbook import open_workbook, sheet_names

_CSV = (".csv", ".tsv", ".txt")

_TEXTS = {
    ".html": read_html,
    ".htm": read_html,
    ".json": read_json_table,
    ".jsonl": read_json_table,
    ".ndjson": read_json_table,
}
_FILES = {**_TEXTS, ".parquet": read_parquet}

_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_SQLITE = (".sqlite", ".sqlite3", ".db")
_DATABASES: dict[str, Callable[[Path, str | None], Table]] = {
    **dict.fromkeys(_SQLITE, read_sqlite),
    ".duckdb": read_duckdb,
}

# What lists the parts of a file: its sheets or tables.
_PARTS: dict[str, Callable[[Path], list[str]]] = {
    **dict.fromkeys(_WORKBOOKS, sheet_names),
    **dict.fromkeys(_SQLITE, sqlite_names),
    ".duckdb": duckdb_names,
}

_PLAIN = (*_CSV, *_FILES, *_PARTS)
_COMPRESSED = tuple(ending + compression for ending in (*_CSV, *_TEXTS) for compression in COMPRESSIONS)

ENDINGS = (*_PLAIN, *_COMPRESSED)
"""What the names of files with tables end in."""

ENDINGS_SHOWN = f"{', '.join(_PLAIN)} (texts also with {', '.join(COMPRESSIONS)})"


def read_table(place: str | Path) -> Table:
    """Read the table at ``FILE`` or ``FILE#PART``; see ``open_table``."""
    return open_table(place)[0]


def open_table(place: str | Path, given: CsvFormat = FOUND) -> tuple[Table, str | None]:
    """Read the table at ``FILE`` or ``FILE#PART`` (``table_place``); a name without an ending means CSV.

    Args:
        given: how a CSV file is written.

    Returns:
        the table, and a line that says what was found of a CSV file that is not plain, or is empty in a workbook.

    Raises:
        UserError: it is an address, the ending is another one, the format has no parts or is not CSV, or the file is
            broken.
    """
    file, part = table_place(str(place))
    path = Path(file)
    if "://" in file and not path.exists():
        raise UserError(f"table={place}: this is an address; download the file and name it")
    if given != FOUND and _ending(path) in (*_FILES, *_PARTS):
        raise UserError(f"table={place}: encoding, separator and header_row are for CSV files; leave them out")
    return open_part(path, part, given)


def open_part(path: Path, part: str | None = None, given: CsvFormat = FOUND) -> tuple[Table, str | None]:
    """Read a file, or the part of that name of it, as ``open_table``.

    Raises:
        UserError: the ending is not one of ``ENDINGS``, nor missing, the file is broken, or it has no such part.
    """
    ending = _ending(path)
    if ending not in _PLAIN:
        raise UserError(f"table={path}: a table is a file in {ENDINGS_SHOWN}, not {ending}; save it as one of them")
    if part is not None and ending not in _PARTS:
        raise UserError(f"table={path}#{part}: a file in {ending} is one table; leave out #{part}")
    if ending in _CSV:
        return open_csv(path, given)
    if ending in _WORKBOOKS:
        return open_workbook(path, part)
    return _FILES[ending](path) if ending in _FILES else _DATABASES[ending](path, part), None


def table_parts(path: Path) -> list[str | None]:
    """Return the names of the sheets or tables of a file that has several; ``[None]`` where it is one table.

    Raises:
        UserError: the file is broken.
    """
    if (ending := path.suffix.lower()) not in _PARTS:
        return [None]
    names = _PARTS[ending](path)
    return list(names) if len(names) > 1 else [None]


def _ending(path: Path) -> str:
    """Return the ending that says the format: of a compressed text that of the text."""
    plain = plain_path(path)
    ending = plain.suffix.lower() or ".csv"
    return ending if plain == path or ending in (*_CSV, *_TEXTS) else ending + path.suffix.lower()
