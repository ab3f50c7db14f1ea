"""WikiTableQuestions' denotation accuracy, as its official evaluator defines it (version 1.0.2; checklist 80).

An answer is a set of values. Each is a number, a date or a text, by what it reads like; the gold ones by their
canonical form where the data names it. Values match if their texts do, or the numbers or dates that they are.
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
"""Year, month and day, each -1 where it is unknown."""

_TOLERANCE = 1e-6
_GROUPED = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an answer: its text in normal form, and the number or the date that it is, if it is one."""

    text: str
    meaning: float | Day | None

    def matches(self, other: Value) -> bool:
        """Whether both are the same text, the same number within 1e-6, or the same date."""
        if self.text == other.text:
            return True
        own, their = self.meaning, other.meaning
        if isinstance(own, int | float) and isinstance(their, int | float):
            return abs(own - their) < _TOLERANCE
        return own is not None and own == their


def value_of(text: str, canonical: str = "") -> Value:
    """The value that a text is, by its canonical form where there is one ("2005-xx-xx", "17.0")."""
    return Value(wtq_official_form(text or canonical), _meaning(canonical or text))


def values_of(texts: Iterable[str]) -> list[Value]:
    """The distinct values of an answer: equal numbers or dates are one, and so are equal texts that are neither."""
    return _distinct(map(value_of, texts))


def denotes(found: Sequence[Value], gold: Sequence[Value]) -> bool:
    """Whether as many values are found as there are gold ones, and each gold one matches one that is found."""
    return len(found) == len(gold) and all(any(own.matches(value) for value in found) for own in gold)


def gold_values(examples: Iterable[Example], tagged: Mapping[str, TaggedAnswer]) -> dict[str, list[Value]]:
    """The gold values of each question with an answer field, by id.

    Args:
        tagged: answers with their canonical forms by question id. Of other questions the own texts are understood, and
            a number in groups of three digits ("1,200") is that number, as it is wherever one is tagged. Dates and
            units that only a tagger knows stay texts, which a computed answer does not match; the official evaluator
            takes tagged questions alone.
    """
    return {
        example.id: tagged_values(tagged.get(example.id) or [(text, _ungrouped(text)) for text in example.answers])
        for example in examples
        if example.answers is not None
    }


def tagged_values(answer: Iterable[tuple[str, str]]) -> list[Value]:
    """The distinct gold values of texts with their canonical forms, empty where there is none."""
    return _distinct(value_of(text, canonical) for text, canonical in answer)


def verdicts(gold: Mapping[str, Sequence[Value]], answers: Mapping[str, Iterable[str]]) -> dict[str, bool]:
    """Whether each question of ``gold`` is answered rightly; one without an answer has the empty one."""
    return {name: denotes(values_of(answers.get(name, ())), own) for name, own in gold.items()}


def _distinct(values: Iterable[Value]) -> list[Value]:
    return list({value.text if value.meaning is None else value.meaning: value for value in values}.values())


def _ungrouped(text: str) -> str:
    """The digits of a number in groups of three; empty where it is none."""
    return text.replace(",", "") if _GROUPED.fullmatch(text) else ""


def _meaning(text: str) -> float | Day | None:
    """The number or the date of a text; a year alone is a number."""
    number = _number(text)
    if number is not None:
        return number
    day = _day(text)
    return day[0] if day is not None and day[1:] == (-1, -1) else day


def _number(text: str) -> float | None:
    """The number that a text without digit groups is; cut, not rounded, where it lies within 1e-6 of a whole one."""
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
    """All digits of a whole number, also of one that a float cannot hold."""
    try:
        return int(text)
    except ValueError:
        return int(number)


def _day(text: str) -> Day | None:
    """The date of a text such as "2005-xx-12"; None where it is none or nothing of it is known."""
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
