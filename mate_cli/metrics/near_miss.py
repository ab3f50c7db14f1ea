"""Classify wrong answers by their distance from the gold answer, after the paper's error analysis (section 7).

The paper's classes were annotated by hand; rules err both ways, so read their shares beside an annotated sheet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from mate_cli.tables.number_words import CARDINALS, MONTH_NUMBERS, MONTHS, ORDINALS
from mate_cli.tables.text import without_accents

Miss = Literal["numeric_form", "punctuation", "extra_words", "missing_words", "overlap", "other"]

MISSES: dict[Miss, str] = {
    "numeric_form": "the same number or date, written otherwise",
    "punctuation": "the same words, with other marks or accents",
    "extra_words": "the gold answer and more",
    "missing_words": "a part of the gold answer",
    "overlap": "a word in common",
    "other": "nothing in common",
}
"""The classes, nearest first."""

NEAR: tuple[Miss, ...] = ("numeric_form", "punctuation", "extra_words", "missing_words")
"""The lexical near-misses among them."""

_ARTICLES = frozenset(("a", "an", "the"))
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_VALUES = CARDINALS | ORDINALS
_SCALE_OF = _SCALES | {f"{word}th": scale for word, scale in _SCALES.items()}
_MONTH_OF = {name: f"month {number}" for name, number in MONTH_NUMBERS.items()}
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_WORD = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:st|nd|rd|th)?(?![^\W_])|[^\W_]+")


def classify(prediction: str, golds: Sequence[str], f1: float) -> Miss:
    """Return the class of a wrong answer, the nearest over the golds; ``f1`` is its score (``metrics.hybridqa``)."""
    classes = {_compare(prediction, gold) for gold in golds}
    near = next((miss for miss in NEAR if miss in classes), None)
    return near or ("overlap" if f1 > 0 else "other")


def canonical(text: str) -> list[str]:
    """Return the words of a text without case, accents, marks and articles, with one form per number and month.

    "Twenty-First", "21st" and "21" are all ``["21"]``; "1,000.50" is ``["1000.5"]``.
    """
    words = _WORD.finditer(_DATE.sub(_spelt_date, _plain(text)))
    tokens = [_digits(word[1]) if word[1] else _MONTH_OF.get(word[0], word[0]) for word in words]
    return [token for token in _numbers_read(tokens) if token not in _ARTICLES]


def _compare(prediction: str, gold: str) -> Miss | None:
    predicted, expected = canonical(prediction), canonical(gold)
    if not predicted or not expected:
        return None
    if predicted == expected or _same_date(predicted, expected):
        return "punctuation" if _words(prediction) == _words(gold) else "numeric_form"
    if _contains(predicted, expected):
        return "extra_words"
    return "missing_words" if _contains(expected, predicted) else None


def _plain(text: str) -> str:
    return without_accents(text.casefold())


def _words(text: str) -> list[str]:
    """Return the words as written, without reading numbers."""
    return [word for word in re.findall(r"[^\W_]+", _plain(text)) if word not in _ARTICLES]


def _spelt_date(match: re.Match[str]) -> str:
    year, month, day = match.groups()
    return f"{day} {MONTHS[int(month) - 1]} {year}" if 1 <= int(month) <= 12 else match[0]


def _digits(number: str) -> str:
    return f"{Decimal(number.replace(',', '')).normalize():f}"


def _numbers_read(tokens: list[str]) -> list[str]:
    """Replace runs of number words, and digits with a scale such as "3.5 million", by their digits."""
    read: list[str] = []
    place = 0
    while place < len(tokens):
        value, length = _number_at(tokens, place)
        scale = _SCALE_OF.get(tokens[place + 1]) if place + 1 < len(tokens) else None
        if scale and re.fullmatch(r"\d+(\.\d+)?", tokens[place]):
            value, length = Decimal(tokens[place]) * scale, 2
        read.append(_digits(str(value)) if length else tokens[place])
        place += length or 1
    return read


def _number_at(tokens: list[str], start: int) -> tuple[int | Decimal, int]:
    """Return the number in words that begins at ``start``, and its number of words (0 if none begins there)."""
    total, group, end, last = 0, 0, start, 1000
    for place in range(start, len(tokens)):
        word = tokens[place]
        if word in _VALUES and (place == start or _VALUES[word] < last):
            group, last = group + _VALUES[word], 10 if _VALUES[word] >= 20 else 0
        elif word in _SCALE_OF and place > start:
            scale, group = _SCALE_OF[word], max(group, 1)
            total, group, last = (total, group * 100, 100) if scale == 100 else (total + group * scale, 0, 1000)
        elif word == "and" and last in (100, 1000) and place > start:
            continue  # counts only if a number follows
        else:
            break
        end = place + 1
    return total + group, end - start


def _same_date(first: list[str], second: list[str]) -> bool:
    """Return whether both have the same day, month and year in some order."""
    return sorted(first) == sorted(second) and any(token.startswith("month ") for token in first)


def _contains(longer: list[str], shorter: list[str]) -> bool:
    return any(longer[at : at + len(shorter)] == shorter for at in range(len(longer) - len(shorter) + 1))
