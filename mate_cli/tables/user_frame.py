"""A pandas DataFrame as a table; what is null or not a number is an empty cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate_cli.tables.table import Table
from mate_cli.tables.user_limits import table_of

if TYPE_CHECKING:
    import pandas as pd


def frame_table(frame: pd.DataFrame, name: str = "table") -> Table:
    """The table of a frame without its index: texts as they are, numbers as a Parquet file's would be.

    Raises:
        UserError: it has no column or no row, or too many.
    """
    columns = [_texts(frame.iloc[:, number]) for number in range(frame.shape[1])]
    return table_of(Path(name), [str(label) for label in frame.columns], list(zip(*columns, strict=True)))


def _texts(column: Any) -> list[str]:
    import pyarrow as pa

    try:
        # Where a gap made floats of whole numbers, Arrow writes them without a decimal point.
        texts: list[str | None] = pa.array(column, from_pandas=True).cast(pa.string()).to_pylist()
    except pa.ArrowException:  # values of several kinds
        texts = [None if null else str(value) for value, null in zip(column, column.isna(), strict=True)]
    return [text or "" for text in texts]
