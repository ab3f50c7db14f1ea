"""Denotation accuracy of WikiTableQuestions, as in its official evaluator (version 1.0.2).

An answer is a set of values; a value is a number, a date or a text. Gold values are read from their canonical form if
the data has one. Values match if their texts are equal, or their numbers or dates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mate_cli.tables.prediction_files import TaggedAnswer
from mate_cli.tables.table import Example
from mate_cli.tables.text import wtq_official_form

Day = tuple[int, int, int]
"""Year, month and day; -1 if unknown."""

_TOLERANCE = 1e-6
_GROUPED = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an answer: its normalized text, and its number or date if it has one."""

    text: str
    meaning: float | Day | None

    def matches(self, other: Value) -> bool:
        """Return whether both have the same text, the same number within 1e-6, or the same date."""
        if self.text == other.text:
            return True
        first, second = self.meaning, other.meaning
        if isinstance(first, int | float) and isinstance(second, int | float):
            return abs(first - second) < _TOLERANCE
        return first is not None and first == second


def value_of(text: str, canonical: str = "") -> Value:
    """Parse a text, or its canonical form if it has one ("2005-xx-xx", "17.0")."""
    return Value(wtq_official_form(text or canonical), _meaning(canonical or text))


def values_of(texts: Iterable[str]) -> list[Value]:
    """Parse an answer to its distinct values: equal numbers, equal dates and equal other texts count once."""
    return _distinct(map(value_of, texts))


def denotes(prediction: Sequence[Value], gold: Sequence[Value]) -> bool:
    """Return whether both have equally many values, and each gold value matches a predicted one."""
    return len(prediction) == len(gold) and all(any(value.matches(other) for other in prediction) for value in gold)


def gold_values(examples: Iterable[Example], tagged: Mapping[str, TaggedAnswer]) -> dict[str, list[Value]]:
    """Return the gold values of each question with an answer field, by id.

    Args:
        tagged: question id -> answers with canonical forms, the official source. Answers of other questions are parsed
            from their texts, with commas as thousands separators ("1,200"); their dates and units stay texts, which a
            computed answer does not match.
    """
    return {
        example.id: tagged_values(tagged.get(example.id) or [(text, _without_commas(text)) for text in example.answers])
        for example in examples
        if example.answers is not None
    }


def tagged_values(answer: Iterable[tuple[str, str]]) -> list[Value]:
    """Parse texts with their canonical forms ("" for none) to distinct gold values."""
    return _distinct(value_of(text, canonical) for text, canonical in answer)


def verdicts(gold: Mapping[str, Sequence[Value]], answers: Mapping[str, Iterable[str]]) -> dict[str, bool]:
    """Return the correctness of each question of ``gold``; a missing answer counts as the empty one."""
    return {name: denotes(values_of(answers.get(name, ())), values) for name, values in gold.items()}


def _distinct(values: Iterable[Value]) -> list[Value]:
    return list({value.text if value.meaning is None else value.meaning: value for value in values}.values())


def _without_commas(text: str) -> str:
    """Return the digits of a number with thousands separators; "" for other texts."""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else ""


def _meaning(text: str) -> float | Day | None:
    """Return the number or date of a text; a year alone is a number."""
    number = _number(text)
    if number is not None:
        return number
    day = _day(text)
    return day[0] if day is not None and day[1:] == (-1, -1) else day


def _number(text: str) -> float | None:
    """Parse a number without separators; one within 1e-6 of a whole number is truncated, not rounded."""
    try:
        number = float(text)
        if "_" in text or not math.isfinite(number):
            return None
        if number.is_integer():
            return _whole(text, number)
        return int(number) if abs(number - round(number)) < _TOLERANCE else number
    except ValueError:
        return None


def _whole(text: str, number: float) -> int:
    """Return a whole number with all its digits, even if a float cannot hold them."""
    try:
        return int(text)
    except ValueError:
        return int(number)


def _day(text: str) -> Day | None:
    """Parse a date such as "2005-xx-12"; None if it is not one or has no known part."""
    parts = text.lower().split("-")
    if len(parts) != 3 or "_" in text:
        return None
    try:
        year = -1 if parts[0] in ("xx", "xxxx") else int(parts[0])
        month, day = (-1 if part == "xx" else int(part) for part in parts[1:])
    except ValueError:
        return None
    known = (month == -1 or 1 <= month <= 12) and (day == -1 or 1 <= day <= 31)
    return (year, month, day) if known and (year, month, day) != (-1, -1, -1) else None
