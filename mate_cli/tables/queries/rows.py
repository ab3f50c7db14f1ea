"""Sets of rows of a table: found here, and written as a condition of SQL on a table ``t`` of the same rows.

``rowid`` is SQLite's number of a row, in the order of the table. Numbers are numbers, dates are texts YYYY-MM-DD, other
texts are in lower case, and empty cells are NULL.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass

from mate_cli.tables.queries.sheet import Key, Sheet, TypedColumn

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}


class RowSet(ABC):
    """A set of rows."""

    @abstractmethod
    def numbers(self, sheet: Sheet) -> list[int]:
        """Return the numbers of the rows, from 0, in order."""

    @property
    @abstractmethod
    def sql(self) -> str:
        """The condition of a WHERE clause."""

    @property
    def said(self) -> tuple[TypedColumn, ...]:
        """The columns whose value in these rows a question says: those of "=", which it need not ask for."""
        return ()


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
        return f"{column_name(self.column)} {self.sign} {literal(self.key)}"

    @property
    def said(self) -> tuple[TypedColumn, ...]:
        return (self.column,) if self.sign == "=" else ()


@dataclass(frozen=True, slots=True)
class OneOf(RowSet):
    """Rows whose cell is one of the keys."""

    column: TypedColumn
    keys: tuple[Key, ...]

    def numbers(self, sheet: Sheet) -> list[int]:
        return [row for row, key in enumerate(self.column.keys) if key in self.keys]

    @property
    def sql(self) -> str:
        return f"{column_name(self.column)} IN ({', '.join(map(literal, self.keys))})"


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

    @property
    def said(self) -> tuple[TypedColumn, ...]:
        return (*self.first.said, *self.second.said)


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
        name, source = column_name(self.column), "" if isinstance(self.source, All) else self.source.sql
        best = f"SELECT {'MAX' if self.highest else 'MIN'}({name}) FROM t" + (source and f" WHERE {source}")
        return (source and f"{source} AND ") + f"{name} = ({best})"

    @property
    def said(self) -> tuple[TypedColumn, ...]:
        return self.source.said


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
class Listed(RowSet):
    """All rows below the only row of ``source``, or all above it."""

    source: RowSet
    below: bool

    def numbers(self, sheet: Sheet) -> list[int]:
        (row,) = self.source.numbers(sheet)
        return list(range(row + 1, sheet.table.num_rows) if self.below else range(row))

    @property
    def sql(self) -> str:
        return f"rowid {'>' if self.below else '<'} (SELECT rowid FROM t WHERE {self.source.sql})"


@dataclass(frozen=True, slots=True)
class Ranked(RowSet):
    """Rows that ``above`` other rows surpass in a column, where ``highest`` is the best."""

    column: TypedColumn
    highest: bool
    above: int

    def numbers(self, sheet: Sheet) -> list[int]:
        compare = operator.gt if self.highest else operator.lt
        keys = [key for key in self.column.keys if key is not None]
        return [
            row
            for row, key in enumerate(self.column.keys)
            if key is not None and sum(compare(other, key) for other in keys) == self.above
        ]

    @property
    def sql(self) -> str:
        name, sign = column_name(self.column), ">" if self.highest else "<"
        better = f"SELECT COUNT(*) FROM t AS other WHERE other.{name} {sign} t.{name}"
        return f"{name} IS NOT NULL AND ({better}) = {self.above}"


@dataclass(frozen=True, slots=True)
class Commonest(RowSet):
    """Rows with the keys that most rows have in a column."""

    column: TypedColumn

    def numbers(self, sheet: Sheet) -> list[int]:
        counts = Counter(key for key in self.column.keys if key is not None)
        most = max(counts.values(), default=0)
        return [row for row, key in enumerate(self.column.keys) if key is not None and counts[key] == most]

    @property
    def sql(self) -> str:
        name, groups = column_name(self.column), _groups(self.column)
        most = f"SELECT COUNT(*) {groups} ORDER BY COUNT(*) DESC LIMIT 1"
        return f"{name} IN (SELECT {name} {groups} HAVING COUNT(*) = ({most}))"


@dataclass(frozen=True, slots=True)
class Different(RowSet):
    """The first row of each key of a column."""

    column: TypedColumn

    def numbers(self, sheet: Sheet) -> list[int]:
        keys = self.column.keys
        return [row for row, key in enumerate(keys) if key is not None and keys.index(key) == row]

    @property
    def sql(self) -> str:
        return f"rowid IN (SELECT MIN(rowid) {_groups(self.column)})"


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
        name = column_name(self.column)
        of_source = f"FROM t WHERE {self.source.sql}"
        return f"{name} = (SELECT {name} {of_source}) AND rowid NOT IN (SELECT rowid {of_source})"


def column_name(column: TypedColumn) -> str:
    """Return the name of a column in quotes, as SQL has it."""
    escaped = column.name.replace('"', '""')
    return f'"{escaped}"'


def _groups(column: TypedColumn) -> str:
    name = column_name(column)
    return f"FROM t WHERE {name} IS NOT NULL GROUP BY {name}"


def literal(key: Key) -> str:
    """Return a key as SQL has it."""
    if isinstance(key, str):
        escaped = key.replace("'", "''")
        return f"'{escaped}'"
    return f"{key:.0f}" if key.is_integer() else repr(key)
