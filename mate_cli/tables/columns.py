"""What the columns of a table hold, numbers or dates, how their cells rank and compare (spec 1.5, 6.2).

A column is of the kind, number or date, that most of its cells have a value of, and of dates where as many have one of
each, so that a column of years is one of dates. Where fewer than 70 in 100 cells have one, it has no values. Of each
cell counts the first value of the column's kind. Dates compare by the fields that all of them have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mate_cli.tables.table import Table
from mate_cli.tables.values import Date, Value, find_values

EQUAL, LESS, GREATER = 1, 2, 4
"""The bits of a relation: a value of the question equals, is less than, is greater than that of a cell."""

_LEAST_SHARE = 0.7
_WEIGHTS = np.array([10_000, 100, 1], dtype=np.int64)  # of year, month and day in a date's key


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The values of a table's body, each column's of one kind.

    Attributes:
        numbers: float32 ``[rows, columns]``, NaN where the column is none of numbers or the cell has none; maybe
            infinite.
        dates: int64 ``[rows, columns, 3]``, year, month and day; 0 where a field is not known, all 0 where the column
            is none of dates or the cell has none.
        rank: int32 ``[rows, columns]``, of the cell's value among the distinct ones of its column, the lowest 1; 0
            where there is none, or where the column's dates have no field in common.
        inverse_rank: int32 ``[rows, columns]``, likewise, the highest 1.
        common: bool ``[columns, 3]``, which fields all dates of a column have; all where it has none.
    """

    numbers: np.ndarray
    dates: np.ndarray
    rank: np.ndarray
    inverse_rank: np.ndarray
    common: np.ndarray

    def relations(self, values: Iterable[Value]) -> np.ndarray:
        """How a question's values compare with each cell: the bits of all, int32 ``[rows, columns]``; 0 where none
        does. A date compares where it and all dates of the column have a field in common.
        """
        found = np.zeros(self.numbers.shape, dtype=np.int32)
        for value in dict.fromkeys(values):
            keys, key = self._date_keys(value) if isinstance(value, Date) else (self.numbers, np.float32(value))
            found |= EQUAL * (keys == key) + LESS * (key < keys) + GREATER * (key > keys)
        return found

    def _date_keys(self, value: Date) -> tuple[np.ndarray, np.ndarray]:
        """Keys of the cells, float64 ``[rows, columns]``, and of the value for each column, float64 ``[columns]``."""
        own = np.array(_fields(value))
        fields = self.common & (own > 0)
        return _keys(self.dates, fields), ((fields * own) @ _WEIGHTS).astype(np.float64)


def column_values(table: Table) -> ColumnValues:
    """The values of a table's body. They do not depend on a question: one call serves all about the table."""
    numbers = np.full((table.num_rows, table.num_columns), np.nan, dtype=np.float32)
    dates = np.zeros((table.num_rows, table.num_columns, 3), dtype=np.int64)
    for column, cells in enumerate(zip(*table.rows, strict=True)):
        for row, value in enumerate(consolidated([find_values(cell.text) for cell in cells])):
            if isinstance(value, Date):
                dates[row, column] = _fields(value)
            elif value is not None:
                numbers[row, column] = value
    has_date = dates.any(axis=-1, keepdims=True)
    common = np.all((dates > 0) | ~has_date, axis=0)
    rank, inverse_rank = _ranks(np.where(np.isnan(numbers), _keys(dates, common), numbers))
    return ColumnValues(numbers, dates, rank, inverse_rank, common)


def consolidated(cells: list[tuple[Value, ...]]) -> list[Value | None]:
    """The value that counts of each cell of a column, given all that its cells have; None where none does."""
    dates = [next((value for value in own if isinstance(value, Date)), None) for own in cells]
    numbers = [next((value for value in own if not isinstance(value, Date)), None) for own in cells]
    kinds: tuple[list[Value | None], ...] = ([*dates], [*numbers])
    most = max(kinds, key=_known)
    return most if _known(most) >= _LEAST_SHARE * len(cells) else [None] * len(cells)


def _fields(date: Date) -> list[int]:
    """Year, month and day, 0 where not known."""
    return [field or 0 for field in date]


def _known(values: list[Value | None]) -> int:
    return sum(value is not None for value in values)


def _keys(dates: np.ndarray, fields: np.ndarray) -> np.ndarray:
    """Numbers in the order of the dates by some fields of each column, float64 ``[rows, columns]``; NaN for no date.

    Args:
        fields: bool ``[columns, 3]``.
    """
    has_key = dates.any(axis=-1) & fields.any(axis=-1)
    return np.where(has_key, (dates * fields) @ _WEIGHTS, np.nan)


def _ranks(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dense ranks from 1 in each column, upwards and downwards, int32 ``[rows, columns]``; 0 where the key is NaN."""
    rank, inverse = np.zeros(keys.shape, dtype=np.int32), np.zeros(keys.shape, dtype=np.int32)
    has_key = ~np.isnan(keys)
    for column in np.flatnonzero(has_key.any(axis=0)):
        rows = has_key[:, column]
        distinct, place = np.unique(keys[rows, column], return_inverse=True)
        rank[rows, column] = place + 1
        inverse[rows, column] = len(distinct) - place
    return rank, inverse
