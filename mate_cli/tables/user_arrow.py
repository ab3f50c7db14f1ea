"""Read a user's own table from a Parquet file or a pandas DataFrame; null and NaN are empty cells.

Times, lengths of time and periods read as pandas shows them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.float_text import float_text, without_exponent
from mate_cli.tables.header import joined
from mate_cli.tables.table import Table
from mate_cli.tables.text_files import has_lone_surrogate
from mate_cli.tables.user_limits import check_bytes, check_size, file_size, table_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

_MIDNIGHT = " 00:00:00"
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_LEVELS = re.compile(rf"\({_TEXT}(?:, {_TEXT})+\)")
_EXPANDED = 1 << 27  # bytes that the rows read at once may become: a text that a column repeats is stored once


def read_parquet(path: Path) -> Table:
    """Read a Parquet file whose columns hold texts, numbers, dates or booleans; one that pandas wrote is as its frame.

    Raises:
        UserError: it cannot be read, is not a Parquet file, has a column of another type, or is too large.
    """
    import pandas.core.arrays.arrow.extension_types  # noqa: F401  # tells Arrow what a period of pandas is
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    check_bytes(path, file_size(path))
    try:
        with ParquetFile(path) as file:
            names = file.schema_arrow.names
            kept = [number for number, name in enumerate(names) if not _UNNAMED_INDEX.fullmatch(name)]
            columns = _columns(path, file, kept)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = named(str(error).partition("\n")[0])
        raise UserError(f"{path}: cannot be read as Parquet ({reason})") from error
    return table_of(path, [_parquet_label(names[number]) for number in kept], list(zip(*columns, strict=True)))


def frame_table(frame: pd.DataFrame, name: str = "table") -> Table:
    """Return the table of a frame: texts as they are, numbers as in a Parquet file, an index with a name in front.

    Raises:
        UserError: it has no column or no row, or too many, or a text with half a character.
    """
    levels = [level for level, label in enumerate(frame.index.names) if label is not None]
    if levels:
        frame = frame.reset_index(level=levels, allow_duplicates=True)
    header = list(map(_label, frame.columns))
    columns = [_frame_texts(frame.iloc[:, number]) for number in range(frame.shape[1])]
    for label, texts in zip(header, columns, strict=True):
        if any(map(has_lone_surrogate, (label, *texts))):
            where = f"{name}: column {shown(label)}"
            raise UserError(f"{where} has a text with half a character (lone surrogate); remove it, or decode it anew")
    return table_of(Path(name), header, list(zip(*columns, strict=True)))


def _columns(path: Path, file: ParquetFile, kept: Sequence[int]) -> list[list[str]]:
    """Return the texts of the columns kept, read in batches so that a file that expands too far is found in time."""
    metadata, names = file.metadata, file.schema_arrow.names
    check_size(path, metadata.num_rows, len(names))
    stored = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    check_bytes(path, stored)
    columns: list[list[str]] = [[] for _ in kept]
    size = 0
    for batch in file.iter_batches(max(1, min(_EXPANDED // max(stored, 1), 1024))):
        for texts, number in zip(columns, kept, strict=True):
            more = _parquet_texts(names[number], batch.column(number), path)
            texts += more
            size += sum(map(len, more))
        check_bytes(path, size)
    return [_as_shown(file.schema_arrow.types[number], texts) for number, texts in zip(kept, columns, strict=True)]


def _parquet_texts(name: str, column: pa.Array, path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        return _texts(column)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        kind = named(str(column.type))
        raise UserError(f"{path}: column {shown(name)} has type {kind}, neither text nor number") from error


def _frame_texts(column: Any) -> list[str]:
    import pyarrow as pa

    try:
        # Where a gap made floats of whole numbers, Arrow writes them without a decimal point.
        array = pa.array(column, from_pandas=True)
        return _as_shown(array.type, _texts(array))
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):  # of several types, too large, or half a character
        return _written(column)


def _texts(column: pa.Array) -> list[str]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_temporal(column.type) or getattr(column.type, "extension_name", "").startswith("pandas."):
        return _written(column.to_pandas())
    texts = [text or "" for text in column.cast(pa.string()).to_pylist()]
    is_fraction = pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    return [without_exponent(text) for text in texts] if is_fraction else texts


def _written(column: pd.Series[Any]) -> list[str]:
    return ["" if null else _text(value) for value, null in zip(column, column.isna(), strict=True)]


def _text(value: Any) -> str:
    return float_text(value) if isinstance(value, float) else str(value)


def _as_shown(kind: pa.DataType, texts: list[str]) -> list[str]:
    """Return days and lengths of time without their hours where none has one."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_timed = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    if is_timed and all(text.endswith(_MIDNIGHT) for text in texts if text):
        return [text.removesuffix(_MIDNIGHT) for text in texts]
    return texts


def _label(label: Hashable) -> str:
    """Return a label of a frame's columns as one text; those of several levels are joined as rows of a header are."""
    return joined(map(str, label)) if isinstance(label, tuple) else str(label)


def _parquet_label(name: str) -> str:
    """Return the label that pandas wrote as a name: ``('A', 'x')`` of a column of several levels."""
    try:
        return _label(ast.literal_eval(name)) if _LEVELS.fullmatch(name) else name
    except (SyntaxError, ValueError):  # a name that only looks like levels
        return name
