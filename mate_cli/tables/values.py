"""Find numbers and dates in a text, as the release does (docs/notes.md, note 6).

Values are digits with commas, decimals and a sign after a blank; single words that are numbers ("1e5", "3rd", "seven",
"fifth"); dates in English notations with a year from 1700 to 2016, or to one that is given. A currency, per cent sign
or unit is ignored; a range or a score gives both numbers. A span inside a longer one gives nothing ("5" in "5 May"); a
year alone is both a number and a date.

No library does this: dateutil and dateparser guess notations that the release does not read, and depend on the locale
or on today's date.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from mate_cli.tables.number_words import CARDINALS, MONTH_NUMBERS, MONTHS, ORDINALS
from mate_cli.tables.text import normalize_for_match


class Date(NamedTuple):
    """A date with at least one known field; None for the others."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


Value = float | Date
"""A number, rounded to float32 and possibly infinite, or a date."""


class Span(NamedTuple):
    """The values of ``text[begin:end]``: a number, a date, or for a year both, in this order."""

    begin: int
    end: int
    values: tuple[Value, ...]


_NUMBER_WORDS = {word: float(n) for words in (CARDINALS, ORDINALS) for word, n in words.items() if n <= 12}
_FIRST_YEAR = 1700
LAST_YEAR = 2016
"""The last year of a date, as the release reads them."""

_NUMBER = re.compile(r"(?:(?:^|\s)[+-])?(?:\.\d+|\d+(?:,\d{3})*(?:\.\d*)?)")
_WORD = re.compile(r"[^\W_]+")
_MAX_CACHED = 200  # characters; longer texts seldom recur, and would fill the memory
_ANY_VALUE = re.compile("|".join((r"\d", *_NUMBER_WORDS, *MONTHS)))

_FIELDS = {
    "YEAR": r"(?P<year>\d{4})",
    "MONTH": rf"(?P<month>{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})",
    "NAME": rf"(?P<month>{'|'.join(MONTHS)})",
    "NUMBER": r"(?P<month>1[0-2]|0[1-9]|[1-9])",
    "DAY": r"(?P<day>3[01]|[12]\d|0[1-9]|[1-9])",
    "WEEKDAY": "(?:mon|tues|wednes|thurs|fri|satur|sun)day",
}
_IN_WORDS = (
    *("NAME", "MONTH YEAR", "MONTH DAY", "DAY MONTH"),
    *("MONTH DAY, YEAR", "DAY MONTH YEAR", "WEEKDAY, MONTH DAY"),
)
_IN_DIGITS = ("YEARs?", "NUMBER-DAY-YEAR", "YEAR-NUMBER-DAY", "YEAR-NUMBER", r"DAY\.NUMBER\.YEAR")


def _compiled(notation: str) -> re.Pattern[str]:
    regex = re.sub("[A-Z]+", lambda field: _FIELDS[field.group()], notation)
    return re.compile(rf"(?<![^\W_]){regex}(?![^\W_])")


_DATES = (  # a cheap test, and the notations to search for if it passes
    (re.compile("|".join(name[:3] for name in MONTHS)), tuple(map(_compiled, _IN_WORDS))),
    (re.compile(r"\d{4}"), tuple(map(_compiled, _IN_DIGITS))),
)


def find_values(text: str, last_year: int = LAST_YEAR) -> tuple[Value, ...]:
    """Return the values of a text, left to right."""
    return _cached_values(text, last_year) if len(text) <= _MAX_CACHED else _values(text, last_year)


def _values(text: str, last_year: int) -> tuple[Value, ...]:
    return tuple(value for span in find_spans(normalize_for_match(text), last_year) for value in span.values)


_cached_values = lru_cache(maxsize=1 << 16)(_values)


def find_spans(text: str, last_year: int = LAST_YEAR) -> list[Span]:
    """Return the spans of a text that have values, left to right, none inside another.

    Args:
        text: result of ``normalize_for_match``.
    """
    if _ANY_VALUE.search(text) is None:
        return []
    values: dict[tuple[int, int], tuple[Value, ...]] = {place: (number,) for place, number in _numbers(text)}
    for place, day in _dates(text, last_year):
        values[place] = (*values.get(place, ()), day)
    kept: list[Span] = []
    reach = -1  # in this order, a span is inside an earlier one if it ends no later than any before it
    for begin, end in sorted(values, key=lambda place: (place[0], -place[1])):
        if end > reach:
            kept.append(Span(begin, end, values[begin, end]))
            reach = end
    return kept


def _numbers(text: str) -> Iterator[tuple[tuple[int, int], float]]:
    for match in _NUMBER.finditer(text):
        number = _as_number(match.group())
        if number is not None:
            yield match.span(), number
    for match in _WORD.finditer(text):
        word = match.group()
        number = _as_number(word) if word[0].isdecimal() else _NUMBER_WORDS.get(word)
        if number is not None:
            yield match.span(), number


def _as_number(word: str) -> float | None:
    digits = word[:-2] if word.endswith(("st", "nd", "rd", "th")) else word
    try:
        number = float(digits.replace(",", ""))
    except ValueError:
        return None
    return array("f", [number])[0] if math.isfinite(number) else None


def _dates(text: str, last_year: int) -> Iterator[tuple[tuple[int, int], Date]]:
    # No notation ends as it begins, so matches of one never overlap and ``finditer`` misses none.
    notations = chain.from_iterable(notations for hint, notations in _DATES if hint.search(text))
    for match in chain.from_iterable(notation.finditer(text) for notation in notations):
        day = _as_date(match.groupdict(), last_year)
        if day is not None:
            yield match.span(), day


def _as_date(fields: dict[str, str | None], last_year: int) -> Date | None:
    year, month, day = (fields.get(name) for name in Date._fields)
    result = Date(
        int(year) if year else None,
        (MONTH_NUMBERS.get(month) or int(month)) if month else None,
        int(day) if day else None,
    )
    if result.year is not None and not _FIRST_YEAR <= result.year <= last_year:
        return None
    try:
        date(result.year or 1900, 1 if result.month is None else result.month, 1 if result.day is None else result.day)
    except ValueError:
        return None
    return result
