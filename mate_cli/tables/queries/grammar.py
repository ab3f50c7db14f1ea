"""Sets of rows of a table and queries on them: executed here, and written as SQL on a table ``t`` of the same rows.

``rowid`` is SQLite's number of a row, in the order of the table. Numbers are numbers, dates are texts YYYY-MM-DD, other
texts are in lower case, and empty cells are NULL.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass

from mate_cli.tables.aggregation import NONE, operator_named
from mate_cli.tables.queries.sheet import Key, Sheet, TypedColumn
from mate_cli.tables.table import Coordinate

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_FUNCTIONS = {"COUNT": "COUNT", "SUM": "SUM", "AVERAGE": "AVG"}


class RowSet(ABC):
    """A set of rows."""

    @abstractmethod
    def numbers(self, sheet: Sheet) -> list[int]:
        """Return the numbers of the rows, from 0, in order."""

    @property
    @abstractmethod
    def sql(self) -> str:
        """The condition of a WHERE clause."""


@dataclass(frozen=True, slots=True)
class All(RowSet):
    """All rows."""

    def numbers(self, sheet: Sheet) -> list[int]:
        return list(range(sheet.table.num_rows))

    @property
    def sql(self) -> str:
        return "TRUE"


@dataclass(frozen=True, slots=True)
class Where(RowSet):
    """Rows whose cell compares with a key in this way; ``sign`` is one of SQL's."""

    column: TypedColumn
    sign: str
    key: Key

    def numbers(self, sheet: Sheet) -> list[int]:
        compare = _COMPARE[self.sign]
        return [row for row, key in enumerate(self.column.keys) if key is not None and compare(key, self.key)]

    @property
    def sql(self) -> str:
        return f"{_name(self.column)} {self.sign} {_literal(self.key)}"


@dataclass(frozen=True, slots=True)
class OneOf(RowSet):
    """Rows whose cell is one of the keys."""

    column: TypedColumn
    keys: tuple[Key, ...]

    def numbers(self, sheet: Sheet) -> list[int]:
        return [row for row, key in enumerate(self.column.keys) if key in self.keys]

    @property
    def sql(self) -> str:
        return f"{_name(self.column)} IN ({', '.join(map(_literal, self.keys))})"


@dataclass(frozen=True, slots=True)
class Both(RowSet):
    """Rows in both sets."""

    first: RowSet
    second: RowSet

    def numbers(self, sheet: Sheet) -> list[int]:
        return sorted({*self.first.numbers(sheet)} & {*self.second.numbers(sheet)})

    @property
    def sql(self) -> str:
        parts = [part.sql for part in (self.first, self.second) if not isinstance(part, All)]
        return " AND ".join(parts) or "TRUE"


@dataclass(frozen=True, slots=True)
class Extreme(RowSet):
    """Rows of ``source`` with its highest or lowest key of a column."""

    source: RowSet
    column: TypedColumn
    highest: bool

    def numbers(self, sheet: Sheet) -> list[int]:
        rows = [row for row in self.source.numbers(sheet) if self.column.keys[row] is not None]
        keys = [self.column.keys[row] for row in rows]
        best = (max if self.highest else min)(keys, default=None)  # type: ignore[type-var]
        return [row for row, key in zip(rows, keys, strict=True) if key == best]

    @property
    def sql(self) -> str:
        name, source = _name(self.column), "" if isinstance(self.source, All) else self.source.sql
        best = f"SELECT {'MAX' if self.highest else 'MIN'}({name}) FROM t" + (source and f" WHERE {source}")
        return (source and f"{source} AND ") + f"{name} = ({best})"


@dataclass(frozen=True, slots=True)
class Edge(RowSet):
    """The first or last row of ``source``."""

    source: RowSet
    last: bool

    def numbers(self, sheet: Sheet) -> list[int]:
        rows = self.source.numbers(sheet)
        return rows[-1:] if self.last else rows[:1]

    @property
    def sql(self) -> str:
        where = "" if isinstance(self.source, All) else f" WHERE {self.source.sql}"
        return f"rowid = (SELECT {'MAX' if self.last else 'MIN'}(rowid) FROM t{where})"


@dataclass(frozen=True, slots=True)
class Beside(RowSet):
    """The row ``step`` rows below the only row of ``source``."""

    source: RowSet
    step: int

    def numbers(self, sheet: Sheet) -> list[int]:
        return [row + self.step for row in self.source.numbers(sheet) if 0 <= row + self.step < sheet.table.num_rows]

    @property
    def sql(self) -> str:
        sign = "+" if self.step > 0 else "-"
        return f"rowid = (SELECT rowid FROM t WHERE {self.source.sql}) {sign} {abs(self.step)}"


@dataclass(frozen=True, slots=True)
class SameAs(RowSet):
    """Other rows with the key that the only row of ``source`` has in a column."""

    source: RowSet
    column: TypedColumn

    def numbers(self, sheet: Sheet) -> list[int]:
        (row,) = self.source.numbers(sheet)
        key = self.column.keys[row]
        return [other for other, its in enumerate(self.column.keys) if its is not None and its == key and other != row]

    @property
    def sql(self) -> str:
        name = _name(self.column)
        of_source = f"FROM t WHERE {self.source.sql}"
        return f"{name} = (SELECT {name} {of_source}) AND rowid NOT IN (SELECT rowid {of_source})"


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """The cells of a column in some rows, or an operator on them.

    Attributes:
        operator: name of one of ``aggregation.OPERATORS``.
        minus: of a difference: the row whose number is subtracted from that of ``rows``, which is not less.
    """

    column: TypedColumn
    rows: RowSet
    operator: str = NONE.name
    minus: RowSet | None = None

    @property
    def sql(self) -> str:
        """The query as one statement of SQL."""
        if self.minus is not None:
            return f"SELECT ({_selection(self.column, self.rows)}) - ({_selection(self.column, self.minus)})"
        return _selection(self.column, self.rows, _FUNCTIONS.get(self.operator, ""))

    def cells(self, sheet: Sheet) -> tuple[Coordinate, ...]:
        """Return the cells that the operator is applied to, row-major."""
        return tuple((row, self.column.place) for row in sorted(self._rows(sheet)))

    def value(self, sheet: Sheet) -> float | None:
        """Return the number that the operator computes; None if the cells are the answer."""
        if self.operator == NONE.name:
            return None
        compute = operator_named(self.operator).compute
        assert compute is not None
        return round(compute([self.column.keys[row] for row in self._rows(sheet)]), 9)

    def _rows(self, sheet: Sheet) -> list[int]:
        return self.rows.numbers(sheet) + ([] if self.minus is None else self.minus.numbers(sheet))


def _selection(column: TypedColumn, rows: RowSet, function: str = "") -> str:
    chosen = f"{function}({_name(column)})" if function else _name(column)
    return f"SELECT {chosen} FROM t" + ("" if isinstance(rows, All) else f" WHERE {rows.sql}")


def _name(column: TypedColumn) -> str:
    escaped = column.name.replace('"', '""')
    return f'"{escaped}"'


def _literal(key: Key) -> str:
    if isinstance(key, str):
        escaped = key.replace("'", "''")
        return f"'{escaped}'"
    return f"{key:.0f}" if key.is_integer() else repr(key)
