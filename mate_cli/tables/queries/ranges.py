"""Sets of rows within limits: days of a year or a month, and keys between two others."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.tables.queries.rows import Both, RowSet, Where, column_name, literal
from mate_cli.tables.queries.sheet import Key, Sheet, TypedColumn


@dataclass(frozen=True, slots=True)
class During(RowSet):
    """Rows with a day of a year, of a month, of four and two digits, or of both."""

    column: TypedColumn
    year: str | None
    month: str | None = None

    def numbers(self, sheet: Sheet) -> list[int]:
        days = [(row, str(key).split("-")) for row, key in enumerate(self.column.keys) if key is not None]
        return [row for row, (year, month, _) in days if self.year in (None, year) and self.month in (None, month)]

    @property
    def sql(self) -> str:
        return f"{column_name(self.column)} LIKE '{self.year or '____'}-{self.month or '__'}-__'"


@dataclass(frozen=True, slots=True)
class Between(RowSet):
    """Rows whose key is at least ``least`` and at most ``most``."""

    column: TypedColumn
    least: Key
    most: Key

    def numbers(self, sheet: Sheet) -> list[int]:
        rows = Both(Where(self.column, ">=", self.least), Where(self.column, "<=", self.most))
        return rows.numbers(sheet)

    @property
    def sql(self) -> str:
        return f"{column_name(self.column)} BETWEEN {literal(self.least)} AND {literal(self.most)}"
