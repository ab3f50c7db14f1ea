"""Draws synthetic statements, true and false ones, about a table (spec 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

import numpy as np

from mate_cli.tables.statements.execute import compare, evaluate, holds, numbers
from mate_cli.tables.statements.grammar import (
    Aggregation,
    Comparator,
    Condition,
    Constant,
    Expression,
    Query,
    Statement,
)
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text import is_empty

_OF_COLUMN = tuple(own for own in Aggregation if own is not Aggregation.COUNT)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Chances:
    """The release's settings: how likely what is, and how often an unlucky draw is repeated."""

    count: float = 0.02
    one_more_condition: float = 0.5
    left_constant: float = 0.5
    right_constant: float = 0.5
    attempts: int = 100


@dataclass(frozen=True, slots=True)
class Synthesizer:
    """Draws statements about one table.

    Where it differs from the release: what is empty is not spoken of, be it a cell or the head of a column; and of two
    ways to write one number ("1,000" and "1000"), which the grammar tells apart, none is said to be false for that.
    """

    table: Table
    random: np.random.RandomState
    chances: Chances = Chances()

    def statement(self, truth: bool) -> Statement | None:
        """A statement that is true of the table, or false; None where none is found."""
        columns = self._columns()
        if not columns:
            return None
        count = self._happens(self.chances.count)
        column = "" if count else columns[self.random.randint(len(columns))]
        left = self._query(column)
        if left is None:
            return None
        for _ in range(self.chances.attempts):
            right = self._query(column)
            statement = right and self._compared(left, right, truth)
            if statement:
                return self._with_constants(statement)
        return None

    def opposite(self, statement: Statement) -> Table | None:
        """The table with one column shuffled, so that the statement is no longer true, or now is; None where no such
        order is found.
        """
        before = holds(statement, self.table)
        for _ in range(self.chances.attempts):
            shuffled = self._shuffled(self.random.randint(self.table.num_columns))
            if holds(statement, shuffled) is (not before):
                return shuffled
        return None

    def _columns(self) -> list[str]:
        """The names of columns that can be spoken of."""
        names = [head.text for head in self.table.header]
        return [name for name in names if names.count(name) == 1 and not is_empty(name)]

    def _query(self, column: str) -> Query | None:
        """Some aggregation of a column, with a condition where one can be; of no column, a count of rows."""
        kinds = self._in_any_order(_OF_COLUMN) if column else [Aggregation.COUNT]
        valid = (query for query in (Query(kind, column) for kind in kinds) if self._is_clear(query))
        query = next(valid, None)
        return query and self._with_conditions(query)

    def _with_conditions(self, query: Query) -> Query:
        """The query with conditions on one column and another, each met by some row together with the others."""
        for column in self._in_any_order(self._columns()):
            longer = next(filter(self._is_clear, self._with_condition(query, column)), None)
            if longer is not None:
                query = longer
                if not self._happens(self.chances.one_more_condition):
                    break
        return query

    def _with_condition(self, query: Query, column: str) -> Iterator[Query]:
        place = [head.text for head in self.table.header].index(column)
        values = dict.fromkeys(row[place].text for row in self.table.rows if not is_empty(row[place].text))
        for value, comparator in self._in_any_order(list(product(values, Comparator))):
            yield replace(query, conditions=(*query.conditions, Condition(column, comparator, value)))

    def _is_clear(self, query: Query) -> bool:
        """Whether a query stands for something that can be said."""
        values = evaluate(query, self.table)
        return values is not None and not any(map(is_empty, values))

    def _compared(self, left: Query, right: Query, truth: bool) -> Statement | None:
        """The first comparison, in any order, that gives the truth that is wanted."""
        own, other = evaluate(left, self.table), evaluate(right, self.table)
        assert own is not None
        assert other is not None
        for comparator in self._in_any_order(list(Comparator)):
            if compare(own, comparator, other) is truth and (truth or not _same_numbers(own, comparator, other)):
                return Statement(left, comparator, right)
        return None

    def _with_constants(self, statement: Statement) -> Statement:
        """The statement with what one side stands for in its place, or neither; not with the same query twice."""
        if statement.left == statement.right or self._happens(self.chances.left_constant):
            return replace(statement, left=self._constant(statement.left))
        if self._happens(self.chances.right_constant):
            return replace(statement, right=self._constant(statement.right))
        return statement

    def _constant(self, expression: Expression) -> Constant:
        values = evaluate(expression, self.table)
        assert values is not None
        return Constant(values)

    def _shuffled(self, column: int) -> Table:
        order = self.random.permutation(self.table.num_rows)
        rows = (
            (*row[:column], self.table.rows[other][column], *row[column + 1 :])
            for row, other in zip(self.table.rows, order, strict=True)
        )
        return replace(self.table, rows=tuple[tuple[Cell, ...], ...](rows))

    def _in_any_order(self, items: Sequence[_T]) -> list[_T]:
        return [items[place] for place in self.random.permutation(len(items))]

    def _happens(self, chance: float) -> bool:
        return bool(self.random.random_sample() < chance)


def _same_numbers(left: frozenset[str], comparator: Comparator, right: frozenset[str]) -> bool:
    """Whether two sides that are not the same texts are the same numbers."""
    own, other = numbers(left), numbers(right)
    return comparator is Comparator.EQUALS and own is not None and other is not None and set(own) == set(other)
