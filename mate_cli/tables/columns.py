"""Numeric values of columns: numbers or dates, ranks of cells, and relations to a question (docs/notes.md, 4 and 6).

A column has the kind, number or date, of which most cells have a value; in a tie it has dates, so a column of years has
dates. If fewer than 70% of the cells have such a value, the column has none. A cell has its first value of that kind.
Dates compare by the fields that all of them have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mate_cli.tables.everyday_values import ScaledValue, part_of_day, values_of_column
from mate_cli.tables.table import Table
from mate_cli.tables.values import Date, Value, find_values

EQUAL, LESS, GREATER = 1, 2, 4
"""Bits of a relation: a value of the question equals, is less than, is greater than the cell's value."""

_MIN_SHARE = 0.7
_LEAST_OF_FACTOR = 0.01
_WEIGHTS = np.array([10_000, 100, 1], dtype=np.int64)  # of year, month and day in a date's key


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The values of a table's body, of one kind per column.

    Attributes:
        numbers: float32 ``[rows, columns]``, possibly infinite; NaN without a number, or in a column of dates.
        dates: int64 ``[rows, columns, 3]``, year, month and day; 0 for unknown fields, all 0 without a date, or in a
            column of numbers.
        rank: int32 ``[rows, columns]``, rank of the cell's value among the distinct values of its column, the lowest 1;
            0 without a value, or if the column's dates have no common field.
        inverse_rank: int32 ``[rows, columns]``, the same with the highest value 1.
        common: bool ``[columns, 3]``, the fields that all dates of a column have; all True without dates.
    """

    numbers: np.ndarray
    dates: np.ndarray
    rank: np.ndarray
    inverse_rank: np.ndarray
    common: np.ndarray

    def relations(self, values: Iterable[Value | ScaledValue]) -> np.ndarray:
        """Compare a question's values with each cell: the bits of all of them, int32 ``[rows, columns]``.

        A date compares with a column if it shares a field with all dates of the column. A number with a factor is
        multiplied for columns with a number of a hundredth of the factor; others may count in millions themselves.
        """
        bits = np.zeros(self.numbers.shape, dtype=np.int32)
        for value in dict.fromkeys(values):
            keys, key = self._date_keys(value) if isinstance(value, Date) else (self.numbers, self._number_key(value))
            bits |= EQUAL * (keys == key) + LESS * (key < keys) + GREATER * (key > keys)
        return bits

    def _number_key(self, value: float | ScaledValue) -> np.ndarray:
        """Return a number as the columns have it, float32 ``[columns]`` or ``[]``."""
        if not isinstance(value, ScaledValue):
            return np.asarray(value, dtype=np.float32)
        largest = np.nan_to_num(np.abs(self.numbers)).max(axis=0, initial=0.0)
        is_large = largest >= _LEAST_OF_FACTOR * value.factor
        return np.where(is_large, value.number * value.factor, value.number).astype(np.float32)

    def _date_keys(self, value: Date) -> tuple[np.ndarray, np.ndarray]:
        """Return keys of the cells, float64 ``[rows, columns]``, and of the value per column, float64 ``[columns]``."""
        date = np.array(_fields(value))
        fields = self.common & (date > 0)
        return _keys(self.dates, fields), ((fields * date) @ _WEIGHTS).astype(np.float64)


def column_values(table: Table) -> ColumnValues:
    """Return the values of a table's body; one call serves all questions about the table."""
    numbers = np.full((table.num_rows, table.num_columns), np.nan, dtype=np.float32)
    dates = np.zeros((table.num_rows, table.num_columns, 3), dtype=np.int64)
    for column, cells in enumerate(zip(*table.rows, strict=True)):
        found = values_of_column(cells) if table.everyday else [find_values(cell.text) for cell in cells]
        for row, value in enumerate(consolidated(found)):
            if isinstance(value, Date):
                dates[row, column] = _fields(value)
            elif value is not None:
                numbers[row, column] = value
    has_date = dates.any(axis=-1, keepdims=True)
    common = np.all((dates > 0) | ~has_date, axis=0)
    keys = _keys(dates, common)
    if table.everyday:
        for row, column in np.argwhere(dates.any(axis=-1)):
            keys[row, column] += part_of_day(table.rows[row][column].text)
    rank, inverse_rank = _ranks(np.where(np.isnan(numbers), keys, numbers))
    return ColumnValues(numbers, dates, rank, inverse_rank, common)


def consolidated(cells: list[tuple[Value, ...]]) -> list[Value | None]:
    """Choose the value of each cell of a column from all values of its cells; None for no value."""
    dates = [next((value for value in values if isinstance(value, Date)), None) for values in cells]
    numbers = [next((value for value in values if not isinstance(value, Date)), None) for values in cells]
    kinds: tuple[list[Value | None], ...] = ([*dates], [*numbers])
    most = max(kinds, key=_known)
    return most if _known(most) >= _MIN_SHARE * len(cells) else [None] * len(cells)


def _fields(date: Date) -> list[int]:
    """Return year, month and day, 0 if unknown."""
    return [field or 0 for field in date]


def _known(values: list[Value | None]) -> int:
    return sum(value is not None for value in values)


def _keys(dates: np.ndarray, fields: np.ndarray) -> np.ndarray:
    """Map dates to numbers in the order of the given fields, float64 ``[rows, columns]``; NaN for no date.

    Args:
        fields: bool ``[columns, 3]``.
    """
    has_key = dates.any(axis=-1) & fields.any(axis=-1)
    return np.where(has_key, (dates * fields) @ _WEIGHTS, np.nan)


def _ranks(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return dense ranks in each column, ascending and descending, int32 ``[rows, columns]``; 0 for NaN keys."""
    rank, inverse = np.zeros(keys.shape, dtype=np.int32), np.zeros(keys.shape, dtype=np.int32)
    has_key = ~np.isnan(keys)
    for column in np.flatnonzero(has_key.any(axis=0)):
        rows = has_key[:, column]
        distinct, place = np.unique(keys[rows, column], return_inverse=True)
        rank[rows, column] = place + 1
        inverse[rows, column] = len(distinct) - place
    return rank, inverse
