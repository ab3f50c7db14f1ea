"""Reads a user's own table from a Parquet file; what is null or not a number is an empty cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mate_cli.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.user_limits import MAX_COLUMNS, MAX_ROWS, check_file, table_of

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(path: Path) -> Table:
    """A table from a Parquet file whose columns hold texts, numbers, dates or truth values.

    Raises:
        UserError: it cannot be read, is no Parquet file, has a column of another kind, or is too large.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    check_file(path)
    try:
        with ParquetFile(path) as file:
            if file.metadata.num_rows > MAX_ROWS or len(file.schema_arrow) > MAX_COLUMNS:
                raise UserError(
                    f"{path}: more than {MAX_ROWS} rows or {MAX_COLUMNS} columns; ask about a smaller table"
                )
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"{path}: not a Parquet file that can be read ({reason})") from error
    columns = [_texts(name, column, path) for name, column in zip(table.column_names, table.columns, strict=True)]
    return table_of(path, table.column_names, list(zip(*columns, strict=True)))


def _texts(name: str, column: pa.ChunkedArray, path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise UserError(f"{path}: column {name!r} is of type {column.type}, which is no text and no number") from error
    return [text or "" for text in texts]
