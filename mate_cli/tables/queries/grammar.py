"""Queries on a table: executed here, and written as SQL (``mate_cli.tables.queries.rows``)."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.tables.aggregation import NONE, operator_named
from mate_cli.tables.queries.rows import All, RowSet, column_name
from mate_cli.tables.queries.sheet import Sheet, TypedColumn
from mate_cli.tables.table import Coordinate

_FUNCTIONS = {"COUNT": "COUNT", "SUM": "SUM", "AVERAGE": "AVG"}


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
    chosen = f"{function}({column_name(column)})" if function else column_name(column)
    return f"SELECT {chosen} FROM t" + ("" if isinstance(rows, All) else f" WHERE {rows.sql}")
