"""Reads a user's own table, for ``mate predict``, in the format that the name of its file ends in."""

from __future__ import annotations

from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.user_arrow import read_parquet
from mate_cli.tables.user_csv import read_csv
from mate_cli.tables.user_html import read_html
from mate_cli.tables.user_json import read_json_table

_FILES = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".html": read_html,
    ".htm": read_html,
    ".json": read_json_table,
    ".parquet": read_parquet,
}


def read_table(path: Path) -> Table:
    """Read the table of a file; a name without an ending means CSV.

    Raises:
        UserError: the ending is another one, or the file is broken.
    """
    ending = path.suffix.lower() or ".csv"
    if ending not in _FILES:
        raise UserError(f"table={path}: a table is a file in {', '.join(_FILES)}, not {ending}; save it as one of them")
    return _FILES[ending](path)
