"""Read a user's own table from a Parquet file or a pandas DataFrame; null and NaN are empty cells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.table import Table
from mate_cli.tables.user_limits import check_bytes, check_size, file_size, table_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

_EXPANDED = 1 << 27  # bytes that the rows read at once may become: a text that a column repeats is stored once


def read_parquet(path: Path) -> Table:
    """Read a Parquet file whose columns hold texts, numbers, dates or booleans.

    Raises:
        UserError: it cannot be read, is not a Parquet file, has a column of another type, or is too large.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    check_bytes(path, file_size(path))
    try:
        with ParquetFile(path) as file:
            names, columns = file.schema_arrow.names, _columns(path, file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = named(str(error).partition("\n")[0])
        raise UserError(f"{path}: cannot be read as Parquet ({reason})") from error
    return table_of(path, names, list(zip(*columns, strict=True)))


def frame_table(frame: pd.DataFrame, name: str = "table") -> Table:
    """Return the table of a frame without its index: texts as they are, numbers as in a Parquet file.

    Raises:
        UserError: it has no column or no row, or too many.
    """
    columns = [_frame_texts(frame.iloc[:, number]) for number in range(frame.shape[1])]
    return table_of(Path(name), [str(label) for label in frame.columns], list(zip(*columns, strict=True)))


def _columns(path: Path, file: ParquetFile) -> list[list[str]]:
    """Return the texts of each column, read in batches so that a file that expands too far is found in time."""
    metadata, names = file.metadata, file.schema_arrow.names
    check_size(path, metadata.num_rows, len(names))
    stored = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    check_bytes(path, stored)
    columns: list[list[str]] = [[] for _ in names]
    size = 0
    for batch in file.iter_batches(max(1, min(_EXPANDED // max(stored, 1), 1024))):
        for texts, name, column in zip(columns, names, batch.columns, strict=True):
            more = _parquet_texts(name, column, path)
            texts += more
            size += sum(map(len, more))
        check_bytes(path, size)
    return columns


def _parquet_texts(name: str, column: pa.Array, path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        kind = named(str(column.type))
        raise UserError(f"{path}: column {shown(name)} has type {kind}, neither text nor number") from error
    return [text or "" for text in texts]


def _frame_texts(column: Any) -> list[str]:
    import pyarrow as pa

    try:
        # Where a gap made floats of whole numbers, Arrow writes them without a decimal point.
        texts: list[str | None] = pa.array(column, from_pandas=True).cast(pa.string()).to_pylist()
    except pa.ArrowException:  # values of several types
        texts = [None if null else str(value) for value, null in zip(column, column.isna(), strict=True)]
    return [text or "" for text in texts]
