"""Execute cells and an operator to an answer, and compare answers as the release does (docs/notes.md, note 34)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from mate_cli.tables.aggregation import NONE, operator_named
from mate_cli.tables.amounts import plain_text
from mate_cli.tables.computed import computed
from mate_cli.tables.table import Cell, Coordinate, Example, Table
from mate_cli.tables.text import convert_to_float

Denotation = tuple[float | str, ...]
"""The values of an answer, numbers if possible. Order does not matter, repetition does."""

_MAX_EXACT = 1e15  # a float beyond it has more digits than it can tell apart


def execute(table: Table, cells: Iterable[Coordinate], aggregation: str) -> Denotation:
    """Apply an operator, given by its name, to cells.

    If it needs numbers and the cells are not all numbers, or too few for a difference, the cells are the answer;
    without cells the answer is empty, or 0 for a count. A cell that reads "nan" is a text, but a number in a sum.
    Columns of numbers in a user's own table are computed as ``mate predict`` does (``tables.computed``).

    Raises:
        ValueError: there is no such operator.
    """
    operator = operator_named(aggregation)
    places = list(cells)
    chosen = [table.rows[row][column] for row, column in places]
    if operator.compute is not None and operator.counts:
        return (operator.compute(chosen),)
    if _has_numbers(chosen):
        number = _own_number(table, places, aggregation)
        return _values(chosen) if number is None else (float(number),)
    numbers = [_number(cell.text) for cell in chosen]
    if operator.compute is None or None in numbers or len(numbers) < operator.least:
        return _values(chosen)
    return (operator.compute(numbers),)


def gold_denotation(example: Example) -> Denotation | None:
    """Return the gold answer: its number, otherwise its cells; None if neither is known."""
    if example.value is not None:
        return (example.value,)
    return execute(example.table, example.candidates, NONE.name) if example.candidates else None


def normalize_answers(denotation: Iterable[float | str]) -> list[str]:
    """Normalize an answer for comparison: sorted, numbers rounded to 32 bits, NaN left out."""
    forms = (_normalize(_rounded(value)) for value in denotation)
    return sorted(form for form in forms if form is not None)


def same_denotation(prediction: Denotation, gold: Denotation | None) -> bool:
    """Return whether a prediction equals the gold answer; an unknown one (None) equals nothing."""
    return gold is not None and normalize_answers(prediction) == normalize_answers(gold)


def answer_texts(table: Table, cells: Sequence[Coordinate], aggregation: str) -> tuple[str, ...]:
    """Return the answer for scores and official files: the cells (``plain_text``), or what an operator computes."""
    chosen = [table.rows[row][column] for row, column in cells]
    texts = tuple(map(plain_text, chosen))
    if aggregation == NONE.name:
        return texts
    if _has_numbers(chosen):
        number = _own_number(table, cells, aggregation)
        return texts if number is None else (number,)
    answer = execute(table, cells, aggregation)
    if len(answer) == 1 and not isinstance(answer[0], str):
        return (_digits(answer[0]),)
    return texts


def _has_numbers(cells: Iterable[Cell]) -> bool:
    return any(cell.number is not None for cell in cells)


def _own_number(table: Table, cells: Sequence[Coordinate], aggregation: str) -> str | None:
    """Return the number that ``mate predict`` computes in a user's own table; None where the cells are the answer."""
    result = computed(table, cells, aggregation)
    return None if result.formula is None else result.answer[0]


def _values(cells: Sequence[Cell]) -> Denotation:
    numbers = [_number(cell.text) if cell.number is None else cell.number for cell in cells]
    return tuple(
        cell.text.lower() if number is None or math.isnan(number) else number
        for cell, number in zip(cells, numbers, strict=True)
    )


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
    """Write plain digits without rounding noise: "0.3" for 0.1 + 0.2, "3" for 3.0."""
    if not math.isfinite(number) or abs(number) >= _MAX_EXACT:
        return str(number)
    return np.format_float_positional(round(number, 9) + 0.0, trim="-")
