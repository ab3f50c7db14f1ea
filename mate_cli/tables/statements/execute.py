"""Executes synthetic statements on a table: what an expression stands for, and whether a statement is true."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from mate_cli.tables.statements.grammar import (
    Aggregation,
    Comparator,
    Condition,
    Constant,
    Expression,
    Query,
    Statement,
)
from mate_cli.tables.table import Table
from mate_cli.tables.text import convert_to_float

_LARGEST = 1e15  # up to here a float tells whole numbers apart, also where some are added
_OF_TWO_ROWS = frozenset(Aggregation) - {Aggregation.NONE, Aggregation.COUNT}


def holds(statement: Statement, table: Table) -> bool | None:
    """Whether a statement is true of a table; None where it cannot be said."""
    left, right = evaluate(statement.left, table), evaluate(statement.right, table)
    return None if left is None or right is None else compare(left, statement.comparator, right)


def compare(left: Iterable[str], comparator: Comparator, right: Iterable[str]) -> bool | None:
    """Whether two sets of texts are the same, or all numbers of one lie above those of the other; None where the
    latter is asked of what are not all numbers, or of none.
    """
    if comparator is Comparator.EQUALS:
        return frozenset(left) == frozenset(right)
    if comparator is Comparator.LESSER:
        left, right = right, left
    above, below = numbers(left), numbers(right)
    return min(above) > max(below) if above and below else None


def evaluate(expression: Expression, table: Table) -> frozenset[str] | None:
    """The texts that an expression stands for; None where it cannot be computed.

    That is where its column or one of a condition is not there or there twice, no row meets the conditions, a
    condition needs numbers and a cell of its column is none, an aggregation needs them and a cell of these rows is
    none, or it needs two rows and there is one.
    """
    if isinstance(expression, Constant):
        return expression.values
    rows = _rows(expression.conditions, table)
    if not rows:
        return None
    if expression.aggregation is Aggregation.COUNT:
        return frozenset([format_number(len(rows))])
    cells = _cells(expression.column, table)
    return None if cells is None else _aggregated(expression, [cells[row] for row in rows])


def numbers(texts: Iterable[str]) -> list[float] | None:
    """The numbers that texts are; None where one is not."""
    found = [_number(text) for text in texts]
    return None if None in found else [number for number in found if number is not None]


def format_number(number: float) -> str:
    """A whole number as one, any other to two places."""
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.2f}"


def _rows(conditions: Iterable[Condition], table: Table) -> Sequence[int] | None:
    """The rows that meet all conditions; None where one cannot be said of some row of the table."""
    rows = set(range(table.num_rows))
    for condition in conditions:
        cells = _cells(condition.column, table)
        if cells is None:
            return None
        met = [compare([cell], condition.comparator, [condition.value]) for cell in cells]
        if None in met:
            return None
        rows &= {row for row, own in enumerate(met) if own}
    return sorted(rows)


def _cells(column: str, table: Table) -> list[str] | None:
    """The texts of a column; None unless exactly one bears that name."""
    places = [place for place, head in enumerate(table.header) if head.text == column]
    return [row[places[0]].text for row in table.rows] if len(places) == 1 else None


def _aggregated(query: Query, cells: list[str]) -> frozenset[str] | None:
    if query.aggregation in _OF_TWO_ROWS and len(cells) < 2:
        return None
    match query.aggregation:
        case Aggregation.NONE:
            return frozenset(cells)
        case Aggregation.FIRST:
            return frozenset(cells[:1])
        case Aggregation.LAST:
            return frozenset(cells[-1:])
    values = numbers(cells)
    return None if values is None else frozenset([_computed(query.aggregation, cells, values)])


def _computed(aggregation: Aggregation, cells: list[str], values: list[float]) -> str:
    """What is said of the numbers of some cells; of the lowest and the greatest, the cell's own text."""
    match aggregation:
        case Aggregation.LOWEST:
            return cells[values.index(min(values))]
        case Aggregation.GREATEST:
            return cells[values.index(max(values))]
        case Aggregation.SUM:
            return format_number(math.fsum(values))
        case Aggregation.AVERAGE:
            return format_number(math.fsum(values) / len(values))
        case Aggregation.RANGE:
            return format_number(max(values) - min(values))
    raise ValueError(aggregation)


@lru_cache(maxsize=1 << 16)
def _number(text: str) -> float | None:
    """The number that a text is, where arithmetic with it is exact enough to be called true."""
    try:
        number = convert_to_float(text)
    except ValueError:
        return None
    return number if abs(number) <= _LARGEST else None  # nor is NaN
