"""Draw synthetic statements about a table, true and false ones (docs/notes.md, note 21)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

import numpy as np

from mate_cli.tables.statements.grammar import (
    Aggregation,
    Comparator,
    Condition,
    Constant,
    Expression,
    Query,
    Statement,
    compare,
    evaluate,
    holds,
    numbers,
)
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text import is_empty

_COLUMN_AGGREGATIONS = tuple(kind for kind in Aggregation if kind is not Aggregation.COUNT)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Chances:
    """The release's probabilities of each choice, and its number of attempts."""

    count: float = 0.02
    one_more_condition: float = 0.5
    left_constant: float = 0.5
    right_constant: float = 0.5
    attempts: int = 100


@dataclass(frozen=True, slots=True)
class Synthesizer:
    """Draws statements about one table.

    Unlike the release it never mentions an empty cell or column name, and does not call a statement false because of
    two spellings of one number ("1,000" and "1000").
    """

    table: Table
    random: np.random.RandomState
    chances: Chances = Chances()

    def statement(self, truth: bool) -> Statement | None:
        """Draw a statement with this truth value; None if no attempt succeeds."""
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
        """Shuffle one column so that the truth value of the statement changes; None if no attempt succeeds."""
        before = holds(statement, self.table)
        for _ in range(self.chances.attempts):
            table = self._with_shuffled_column(self.random.randint(self.table.num_columns))
            if holds(statement, table) is (not before):
                return table
        return None

    def _columns(self) -> list[str]:
        """Return the column names that are unique and not empty."""
        names = [head.text for head in self.table.header]
        return [name for name in names if names.count(name) == 1 and not is_empty(name)]

    def _query(self, column: str) -> Query | None:
        """Draw an aggregation of a column with conditions if possible; without a column, a count of rows."""
        kinds = self._shuffled(_COLUMN_AGGREGATIONS) if column else [Aggregation.COUNT]
        valid = (query for query in (Query(kind, column) for kind in kinds) if self._is_clear(query))
        query = next(valid, None)
        return query and self._with_conditions(query)

    def _with_conditions(self, query: Query) -> Query:
        """Add conditions on different columns, each met by some row together with the others."""
        for column in self._shuffled(self._columns()):
            extended = next(filter(self._is_clear, self._with_condition(query, column)), None)
            if extended is not None:
                query = extended
                if not self._happens(self.chances.one_more_condition):
                    break
        return query

    def _with_condition(self, query: Query, column: str) -> Iterator[Query]:
        place = [head.text for head in self.table.header].index(column)
        values = dict.fromkeys(row[place].text for row in self.table.rows if not is_empty(row[place].text))
        for value, comparator in self._shuffled(list(product(values, Comparator))):
            yield replace(query, conditions=(*query.conditions, Condition(column, comparator, value)))

    def _is_clear(self, query: Query) -> bool:
        """Return whether a query has a value without empty texts."""
        values = evaluate(query, self.table)
        return values is not None and not any(map(is_empty, values))

    def _compared(self, left: Query, right: Query, truth: bool) -> Statement | None:
        """Return the first comparison, in random order, with this truth value."""
        first, second = evaluate(left, self.table), evaluate(right, self.table)
        assert first is not None
        assert second is not None
        for comparator in self._shuffled(list(Comparator)):
            if compare(first, comparator, second) is truth:
                values = numbers(first), numbers(second)
                same_numbers = None not in values and set(values[0] or ()) == set(values[1] or ())
                if truth or comparator is not Comparator.EQUALS or not same_numbers:
                    return Statement(left, comparator, right)
        return None

    def _with_constants(self, statement: Statement) -> Statement:
        """Replace one side by its value, or neither; always the left one if both sides are the same query."""
        if statement.left == statement.right or self._happens(self.chances.left_constant):
            return replace(statement, left=self._constant(statement.left))
        if self._happens(self.chances.right_constant):
            return replace(statement, right=self._constant(statement.right))
        return statement

    def _constant(self, expression: Expression) -> Constant:
        values = evaluate(expression, self.table)
        assert values is not None
        return Constant(values)

    def _with_shuffled_column(self, column: int) -> Table:
        order = self.random.permutation(self.table.num_rows)
        rows = (
            (*row[:column], self.table.rows[other][column], *row[column + 1 :])
            for row, other in zip(self.table.rows, order, strict=True)
        )
        return replace(self.table, rows=tuple[tuple[Cell, ...], ...](rows))

    def _shuffled(self, items: Sequence[_T]) -> list[_T]:
        return [items[place] for place in self.random.permutation(len(items))]

    def _happens(self, chance: float) -> bool:
        return bool(self.random.random_sample() < chance)
