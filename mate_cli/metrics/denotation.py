"""What chosen cells and an operator answer, executed and compared as the release does (spec 3.10)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from mate_cli.tables.aggregation import NONE, operator_named
from mate_cli.tables.table import Coordinate, Example, Table
from mate_cli.tables.text import convert_to_float

Denotation = tuple[float | str, ...]
"""What is answered, a number where it is one; order says nothing, how often an answer comes does."""

_LONGEST = 1e15
"""Beyond this size the digits of a float are no longer all meant."""


def execute(table: Table, cells: Iterable[Coordinate], aggregation: str) -> Denotation:
    """Apply the operator of that name to cells.

    Where an operator needs numbers, cells that are not all numbers answer as they are, and no cells answer nothing.
    A cell that reads "nan" is a text by itself, and a number in a sum.

    Raises:
        ValueError: there is no such operator.
    """
    operator = operator_named(aggregation)
    texts = [table.rows[row][column].text for row, column in cells]
    if operator.compute is not None and operator.counts:
        return (operator.compute(texts),)
    numbers = [_number(text) for text in texts]
    if operator.compute is None or None in numbers:
        return tuple(text.lower() if n is None or math.isnan(n) else n for text, n in zip(texts, numbers, strict=True))
    return (operator.compute(numbers),) if numbers else ()


def gold_denotation(example: Example) -> Denotation | None:
    """The right answer: the number where it is one, else the answer cells; None where neither is known."""
    if example.value is not None:
        return (example.value,)
    return execute(example.table, example.candidates, NONE.name) if example.candidates else None


def normalize_answers(denotation: Iterable[float | str]) -> list[str]:
    """An answer in the form in which two are compared: sorted; numbers in 32 bits; what is no number (NaN) left out."""
    forms = (_normalize(_rounded(value)) for value in denotation)
    return sorted(form for form in forms if form is not None)


def same_denotation(found: Denotation, gold: Denotation | None) -> bool:
    """Whether the two are one answer; nothing is the same as an unknown one."""
    return gold is not None and normalize_answers(found) == normalize_answers(gold)


def answer_texts(table: Table, cells: Sequence[Coordinate], aggregation: str) -> tuple[str, ...]:
    """The answer for people and for official files: cells in the table's own words, a number where cells make one."""
    own = tuple(table.rows[row][column].text for row, column in cells)
    if aggregation == NONE.name:
        return own
    answer = execute(table, cells, aggregation)
    if len(answer) == 1 and not isinstance(answer[0], str):
        return (_digits(answer[0]),)
    return own


def _number(text: str) -> float | None:
    try:
        return convert_to_float(text)
    except ValueError:
        return None


def _rounded(value: float | str) -> float | str:
    with np.errstate(over="ignore"):
        return value if isinstance(value, str) else float(np.float32(value))


def _normalize(value: float | str) -> str | None:
    number = _number(value) if isinstance(value, str) else value
    if number is None:
        return str(value).lower()
    return None if math.isnan(number) else str(number)


def _digits(number: float) -> str:
    """Plain digits without the noise of binary fractions: "0.3" for 0.1 + 0.2, "3" for 3.0."""
    if not math.isfinite(number) or abs(number) >= _LONGEST:
        return str(number)
    return np.format_float_positional(round(number, 9) + 0.0, trim="-")
