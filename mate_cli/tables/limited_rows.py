"""The rows within the limits that a question sets: "more than 100 boxes", "between 20 and 30 euros", "older than 30".

Models count and list some rows beyond the limit, and miss others: of 77 such questions of WikiTableQuestions dev
weights 0.11.0 answer 47, and 60 with these rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from mate_cli.tables.named_rows import Sign
from mate_cli.tables.number_words import CARDINALS, SCALES
from mate_cli.tables.queries.headers import words_of
from mate_cli.tables.queries.scales import PRICES, more, scale
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn, is_total, sheet_of
from mate_cli.tables.queries.words import is_label
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import words

_MANY = "|".join(SCALES)
_SCALES = " ".join([*SCALES, *(f"{word}s" for word in SCALES)])
_WORDS = "|".join(word for word, number in CARDINALS.items() if number <= 12)


def _number(name: str) -> str:
    """Return the pattern of a number, as a group."""
    digits = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
    return rf"[$£€]?(?P<{name}>(?:{digits})(?: (?:{_MANY}))?|{_WORDS})\b(?![-/.]\d)"


_NUMBERS = ("above", "below", "least", "most", "or_more", "or_less", "than", "low", "high")
_LIMIT = re.compile(
    r"\b(?:last(?:s|ed)? )?(?:"
    rf"(?:more than|over|above|exceed(?:s|ed|ing)?) {_number('above')}"
    rf"|(?:less than|fewer than|under|below) {_number('below')}"
    rf"|(?:at least|a minimum of|no (?:less|fewer) than) {_number('least')}"
    rf"|(?:at most|up to|a maximum of|no more than) {_number('most')}"
    rf"|{_number('or_more')} or more|{_number('or_less')} or (?:less|fewer)"
    rf"|(?P<comparative>(?:more )?\w+) than {_number('than')}"
    rf"|between {_number('low')} and {_number('high')}"
    r")(?P<after>(?: [\w²³%]+){0,3})",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?:[\w'²³]+ ){0,4}$")
_NEGATION = re.compile(r"\b(?:not|no|never|\w+n't)\b", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can)\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_STEMS_OF_COST = frozenset(["cost", "paid", "pay", "price"])
_HIGHER = frozenset(["greater", "higher", "larger", "bigger", "longer"])
_LOWER = frozenset(["lower", "smaller", "shorter"])
_Fits = Callable[[float], bool]


def limited_rows(question: str, spans: Sequence[tuple[int, int]], table: Table) -> list[Sign]:
    """Return the rows within each limit that a question sets to a column of numbers, as far as the column is clear.

    It is the one whose header, or unit, is the next word after the number that is one, else the last before the limit;
    the one with prices for "cost", or the one that the adjective measures ("older": the age). Totals have no limit, nor
    has a question that is to be answered by yes or no.

    Args:
        spans: of the words of the question, in characters.
    """
    limits = [] if _YES_OR_NO.match(question) else [*_LIMIT.finditer(question)]
    columns = [*filter(_has_limits, sheet_of(table).columns if limits else ())]
    signs = []
    for limit in limits:
        before = found[0] if (found := _BEFORE.search(question, 0, limit.start())) else ""
        column = None if _NEGATION.search(before) else _column(limit, before, columns)
        fits = None if column is None else _fits(limit, column)
        rows = frozenset() if column is None or fits is None else _rows(column, fits, table)
        if 0 < len(rows) < table.num_rows:
            said = range(limit.start(), limit.start("after"))
            signs.append(Sign(rows, frozenset(place for place, (start, _) in enumerate(spans) if start in said)))
    return signs


def _has_limits(column: TypedColumn) -> bool:
    return column.kind is ColumnType.NUMBER and not is_label(column) and len({*column.keys}) > 1


def _rows(column: TypedColumn, fits: _Fits, table: Table) -> frozenset[int]:
    numbers = ((row, key) for row, key in enumerate(column.keys) if isinstance(key, float))
    return frozenset(row for row, number in numbers if fits(number) and not is_total(table.rows[row]))


def _column(limit: re.Match[str], before: str, columns: Sequence[TypedColumn]) -> TypedColumn | None:
    """Return the one column that a limit is about; None if it may be several, or none."""
    if (comparative := limit["comparative"]) and comparative.lower() not in _HIGHER | _LOWER:
        measured = [column for column in columns if _direction(comparative, column)]
        return measured[0] if len(measured) == 1 else None
    after = words(limit["after"])
    between_years = limit["low"] and all(_YEAR.fullmatch(limit[name]) for name in ("low", "high"))
    for word in (*after, *(() if between_years else reversed(words(before)))):
        named = [column for column in columns if _is_named(column, word)]
        if named:
            return named[0] if len(named) == 1 else None
    return None


def _is_named(column: TypedColumn, word: str) -> bool:
    """Return whether a word is in the header of a column, or says "cost" of one of prices."""
    return word in words(column.name) or (word in _STEMS_OF_COST and not PRICES.isdisjoint(words_of(column.name)))


def _direction(comparative: str, column: TypedColumn) -> int:
    """Return 1 if a comparative means more of what a column measures, -1 for less, 0 if it measures something else."""
    adjectives = scale(column) or ()
    return next((sign for sign, word in zip((1, -1), adjectives, strict=False) if more(word) == comparative.lower()), 0)


def _fits(limit: re.Match[str], column: TypedColumn) -> _Fits | None:
    """Return a test of numbers; None if the number is in millions and the column perhaps, too."""
    texts = [limit[name] for name in _NUMBERS if limit[name]]
    if any(text.lower().endswith(tuple(SCALES)) for text in texts) and {*words(column.name)} & {*words(_SCALES)}:
        return None
    low, high = min(numbers := [*map(_value, texts)]), max(numbers)
    if limit["low"]:
        return lambda number: low <= number <= high
    if limit["least"] or limit["or_more"]:
        return lambda number: number >= low
    if limit["most"] or limit["or_less"]:
        return lambda number: number <= high
    comparative = limit["comparative"] or ""
    if limit["below"] or comparative.lower() in _LOWER or _direction(comparative, column) < 0:
        return lambda number: number < low
    return lambda number: number > high


def _value(text: str) -> float:
    number, _, many = text.lower().replace(",", "").partition(" ")
    return (CARDINALS[number] if number in CARDINALS else float(number)) * 10 ** SCALES.get(many, 0)
