"""Find the numbers and dates in users' own tables, and in questions on them, as people write them.

The release (``mate_cli.tables.values``) knows no year after 2016, no dates with strokes and no times of day; it reads
"more than 1 million" as 1, and "(30)" as 30.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mate_cli.tables.number_words import SCALES
from mate_cli.tables.table import Cell
from mate_cli.tables.text import is_empty, normalize_for_match
from mate_cli.tables.values import Date, Value, find_spans, find_values

_LAST_YEAR = 2100
_YEAR_FIRST = re.compile(r"\b(\d{4})/(\d{1,2})/(\d{1,2})\b")
_YEAR_LAST = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b")
_TIME = re.compile(r"(?<=\d{4}-\d\d-\d\d)T(?=\d)")
_CLOCK = re.compile(
    r"(?<![\d:.])(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(\.\d+)?(?: ?([ap])\.?m\b\.?)?(?![\d:])", re.IGNORECASE
)

_FACTORS = {word: 10.0**power for word, power in SCALES.items()}
_LETTERS = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9}  # behind digits, without a blank
_SCALE = re.compile(rf"[ -]?(?P<word>{'|'.join(_FACTORS)})s?\b|(?<=\d)(?P<letters>{'|'.join(_LETTERS)})\b")
_ONE = re.compile(rf"\b(?P<half>half )?a (?P<word>{'|'.join(_FACTORS)})\b")


class ScaledValue(NamedTuple):
    """A number with a factor: 1.5 and 1,000,000 for "1.5 million"."""

    number: float
    factor: float


def values_of_column(cells: Sequence[Cell]) -> list[tuple[Value, ...]]:
    """Return all values of each cell of a column; in a column of numbers a cell has its own at most.

    Of dates such as 5/6/2024 the month is first, unless another of the column begins with more than 12. A time of day,
    or a duration, is a number of hours.
    """
    if (times := _times([cell.text for cell in cells])) is not None:
        return times
    day_first = any(int(first) > 12 for cell in cells for first, _, _ in _YEAR_LAST.findall(cell.text))
    found = [find_values(_with_iso_dates(cell.text, day_first), _LAST_YEAR) for cell in cells]
    if all(cell.number is None for cell in cells):
        return found
    return [
        (*(value for value in values if isinstance(value, Date)), *(() if cell.number is None else (cell.number,)))
        for cell, values in zip(cells, found, strict=True)
    ]


def _times(texts: Sequence[str]) -> list[tuple[Value, ...]] | None:
    """Return the hours of a column of times; None of another column."""
    clocks = [_CLOCK.fullmatch(text) for text in texts]
    if not any(clocks) or not all(clock or is_empty(text) for clock, text in zip(clocks, texts, strict=True)):
        return None
    with_seconds = any(clock is not None and clock[3] for clock in clocks)  # 59:30 beside 1:02:03 has no hours
    return [
        () if clock is None else (_hours(clock) / (60 if with_seconds and not clock[3] else 1),) for clock in clocks
    ]


def question_values(question: str) -> tuple[Value | ScaledValue, ...]:
    """Return the values of a question, those with a factor last."""
    text = normalize_for_match(_CLOCK.sub(lambda clock: f"{_hours(clock):.9f}", _with_iso_dates(question)))
    values: list[Value] = []
    scaled = [ScaledValue(0.5 if one["half"] else 1.0, _FACTORS[one["word"]]) for one in _ONE.finditer(text)]
    for span in find_spans(text, _LAST_YEAR):
        if (scale := _SCALE.match(text, span.end)) is None:
            values += span.values
        else:
            factor = _FACTORS[scale["word"]] if scale["word"] else _LETTERS[scale["letters"]]
            scaled += [ScaledValue(value, factor) for value in span.values if not isinstance(value, Date)]
    return (*values, *scaled)


def part_of_day(text: str) -> float:
    """Return the time of day in a text, from 0 to 1; 0 if it has none."""
    clock = _CLOCK.search(_TIME.sub(" ", text))
    return 0.0 if clock is None else min(_hours(clock) / 24, 1.0)


def _hours(clock: re.Match[str]) -> float:
    first, second, third, fraction, half = clock.groups(default="")
    hours = int(first) % 12 + 12 * (half in "pP") if half else int(first)
    if not third:
        return hours + float(second + fraction) / 60
    return hours + int(second) / 60 + float(third + fraction) / 3600


def _with_iso_dates(text: str, day_first: bool = False) -> str:
    """Return a text with dates as the release reads them: 2024-06-05."""
    if "/" in text:
        text = _YEAR_FIRST.sub(r"\1-\2-\3", text)
        text = _YEAR_LAST.sub(lambda date: _iso(date, day_first), text)
    return _TIME.sub(" ", text)


def _iso(date: re.Match[str], day_first: bool) -> str:
    first, second, year = date.groups()
    day, month = (first, second) if day_first or int(first) > 12 else (second, first)
    return f"{year}-{month}-{day}"
