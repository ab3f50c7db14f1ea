"""Grammar of synthetic statements: their parts, their wording, and their execution on a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from mate_cli.tables.table import Table
from mate_cli.tables.text import convert_to_float

_MAX_EXACT = 1e15  # up to here floats tell whole numbers apart, even after adding some


class Comparator(Enum):
    """Comparison of two sets of texts; the value is its wording."""

    EQUALS = "is"
    GREATER = "is greater than"
    LESSER = "is less than"


class Aggregation(Enum):
    """Aggregation of the cells of a column; the value is its wording."""

    NONE = ""
    FIRST = "the first"
    LAST = "the last"
    LOWEST = "the lowest"
    GREATEST = "the greatest"
    SUM = "the total"
    AVERAGE = "the average"
    RANGE = "the range of"
    COUNT = "the count"


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds for rows whose cell in ``column`` compares with ``value`` in this way."""

    column: str
    comparator: Comparator
    value: str

    def __str__(self) -> str:
        return f"{self.column} {self.comparator.value} {self.value}"


@dataclass(frozen=True, slots=True)
class Query:
    """Aggregates a column over the rows that meet all conditions; ``COUNT`` counts rows and has no column."""

    aggregation: Aggregation
    column: str
    conditions: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        selected = " ".join(filter(None, (self.aggregation.value, self.column)))
        conditions = " and ".join(map(str, self.conditions))
        return f"{selected} when {conditions}" if conditions else selected


@dataclass(frozen=True, slots=True)
class Constant:
    """Texts that do not depend on the table."""

    values: frozenset[str]

    def __str__(self) -> str:
        return ", ".join(sorted(self.values))


Expression = Query | Constant


@dataclass(frozen=True, slots=True)
class Statement:
    """A comparison of two expressions."""

    left: Expression
    comparator: Comparator
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.comparator.value} {self.right}"


def holds(statement: Statement, table: Table) -> bool | None:
    """Return whether a statement is true of a table; None if it cannot be computed."""
    left, right = evaluate(statement.left, table), evaluate(statement.right, table)
    return None if left is None or right is None else compare(left, statement.comparator, right)


def compare(left: Iterable[str], comparator: Comparator, right: Iterable[str]) -> bool | None:
    """Compare two sets of texts: equal sets, or all numbers of one above all of the other.

    Returns:
        None if numbers are compared and a text is not a number, or a side is empty.
    """
    if comparator is Comparator.EQUALS:
        return frozenset(left) == frozenset(right)
    if comparator is Comparator.LESSER:
        left, right = right, left
    above, below = numbers(left), numbers(right)
    return min(above) > max(below) if above and below else None


def evaluate(expression: Expression, table: Table) -> frozenset[str] | None:
    """Return the texts of an expression.

    Returns:
        None if it cannot be computed: a column is missing or repeated, no row meets the conditions, a cell is not a
        number where a condition or aggregation needs numbers, or an aggregation of two rows has one.
    """
    if isinstance(expression, Constant):
        return expression.values
    rows = _matching_rows(expression.conditions, table)
    if not rows:
        return None
    if expression.aggregation is Aggregation.COUNT:
        return frozenset([format_number(len(rows))])
    cells = _column(expression.column, table)
    return None if cells is None else _aggregate(expression.aggregation, [cells[row] for row in rows])


def numbers(texts: Iterable[str]) -> list[float] | None:
    """Convert texts to numbers; None if one is not a number."""
    values = [_number(text) for text in texts]
    return None if None in values else [value for value in values if value is not None]


def format_number(number: float) -> str:
    """Write a whole number without decimals, any other with two."""
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.2f}"


def _matching_rows(conditions: Iterable[Condition], table: Table) -> Sequence[int] | None:
    """Return the rows that meet all conditions; None if a condition cannot be computed for some row."""
    rows = set(range(table.num_rows))
    for condition in conditions:
        cells = _column(condition.column, table)
        if cells is None:
            return None
        is_met = [compare([cell], condition.comparator, [condition.value]) for cell in cells]
        if None in is_met:
            return None
        rows &= {row for row, met in enumerate(is_met) if met}
    return sorted(rows)


def _column(name: str, table: Table) -> list[str] | None:
    """Return the texts of a column; None unless exactly one has that name."""
    places = [place for place, head in enumerate(table.header) if head.text == name]
    return [row[places[0]].text for row in table.rows] if len(places) == 1 else None


def _aggregate(aggregation: Aggregation, cells: list[str]) -> frozenset[str] | None:
    if aggregation is Aggregation.NONE:
        return frozenset(cells)
    if len(cells) < 2:
        return None
    if aggregation is Aggregation.FIRST:
        return frozenset(cells[:1])
    if aggregation is Aggregation.LAST:
        return frozenset(cells[-1:])
    values = numbers(cells)
    return None if values is None else frozenset([_aggregate_numbers(aggregation, cells, values)])


def _aggregate_numbers(aggregation: Aggregation, cells: list[str], values: list[float]) -> str:
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
    """Convert a text to a number; None for NaN and for numbers too large for exact arithmetic."""
    try:
        number = convert_to_float(text)
    except ValueError:
        return None
    return number if abs(number) <= _MAX_EXACT else None
