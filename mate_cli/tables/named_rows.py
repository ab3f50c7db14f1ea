"""The rows of a large table that a question names, so that a model trained on small tables can read them alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from mate_cli.tables.table import Table
from mate_cli.tables.table_index import FUNCTION_WORDS
from mate_cli.tables.text import EMPTY, format_text

_SHORTEST = 2
"""A single character, like "A" or "3", is hardly ever the name of a row."""

_LONGEST = 16
"""Words of a name at most; the cost of a long question grows with it."""

_NO_NAMES = FUNCTION_WORDS | {"all", "any", "each", "every", "first", "hi", "last", "me", "most", "no", "ok", "some"}
"""Words of any question, which are cells too: "IN", "OR" and "ME" are states."""

_OTHER_ROWS = """
    above after another as before behind below besides between beyond else except excluding exceed exceeded exceeds
    following later least neither next not other others over percent percentage position preceding previous prior rank
    ranked ratio same share similar since subsequent than through top under until without
"""
_TO_OTHER_ROWS = frozenset(_OTHER_ROWS.split())
"""Words that compare a named row with the rest, look past it, or leave it out: then all rows matter."""


class NamedRows(NamedTuple):
    """
    Attributes:
        rows: numbers of the rows that a question names, from 0 and in order; empty: it names none.
        suffice: whether it needs no others.
    """

    rows: tuple[int, ...] = ()
    suffice: bool = False


def named_rows(question: str, table: Table) -> NamedRows:
    """Return the rows with the most cells whose whole text stands in the question.

    Case and marks do not count. Of texts that stand in one another the longest counts. Texts of one character, those of
    the header and words that any question may have name no row.
    """
    words = format_text(question).split()
    of_rows, in_table = _texts(table)
    spans = _outermost([span for span in _spans(words) if _text(words, span) in in_table])
    named = {_text(words, span) for span in spans}
    if not named:
        return NamedRows()
    inside = {place for start, end in spans for place in range(start, end)}
    others = {word for place, word in enumerate(words) if place not in inside}
    counts = [len(named & texts) for texts in of_rows]
    most = max(counts)
    return NamedRows(tuple(row for row, count in enumerate(counts) if count == most), not others & _TO_OTHER_ROWS)


@lru_cache(maxsize=8)
def _texts(table: Table) -> tuple[list[frozenset[str]], frozenset[str]]:
    """Return the texts of each row that may name it, and those of all rows."""
    no_names = {EMPTY, *_NO_NAMES, *(format_text(cell.text) for cell in table.header)}
    of_rows = [frozenset(format_text(cell.text) for cell in row) - no_names for row in table.rows]
    return of_rows, frozenset().union(*of_rows)


def _text(words: Sequence[str], span: tuple[int, int]) -> str:
    return " ".join(words[slice(*span)])


def _spans(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    for start in range(len(words)):
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
            if len(_text(words, (start, end))) >= _SHORTEST:
                yield start, end


def _outermost(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans that lie in no other."""
    return [(a, b) for a, b in spans if not any(c <= a and b <= d and (a, b) != (c, d) for c, d in spans)]
