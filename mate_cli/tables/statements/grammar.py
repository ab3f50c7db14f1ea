"""The grammar of synthetic statements: what they are made of, and how it reads in words (spec 5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Comparator(Enum):
    """How two sets of texts compare; the value is how a statement says it."""

    EQUALS = "is"
    GREATER = "is greater than"
    LESSER = "is less than"


class Aggregation(Enum):
    """What is made of the cells of a column; the value is how a statement says it."""

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
    """Holds for a row whose cell in ``column`` compares so with ``value``."""

    column: str
    comparator: Comparator
    value: str

    def __str__(self) -> str:
        return f"{self.column} {self.comparator.value} {self.value}"


@dataclass(frozen=True, slots=True)
class Query:
    """Aggregates the cells of a column in the rows that meet all conditions; ``COUNT`` counts rows, of no column."""

    aggregation: Aggregation
    column: str
    conditions: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        selected = " ".join(filter(None, (self.aggregation.value, self.column)))
        conditions = " and ".join(map(str, self.conditions))
        return f"{selected} when {conditions}" if conditions else selected


@dataclass(frozen=True, slots=True)
class Constant:
    """Texts that are what they are, whatever the table."""

    values: frozenset[str]

    def __str__(self) -> str:
        return ", ".join(sorted(self.values))


Expression = Query | Constant


@dataclass(frozen=True, slots=True)
class Statement:
    """Says how two expressions compare."""

    left: Expression
    comparator: Comparator
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.comparator.value} {self.right}"
