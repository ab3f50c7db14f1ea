"""The rows of a large table that a question names, so that a model trained on small tables can read them alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from mate_cli.tables.spelling import Spelling, is_misspelt
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import FUNCTION_WORDS
from mate_cli.tables.text import EMPTY, format_names

_SHORTEST = 2
"""A single character, like "A" or "3", is hardly ever the name of a row."""

_LONGEST = 16
"""Words of a name at most; the cost of a long question grows with it."""

_BETWEEN = 2
"""Other words between those of a name: "part 10 of Birchmere" names Birchmere 10."""

_CODE = re.compile(r"[^\W\d_]+[-_#/]?((?!(?:19|20)\d\d$)\d{3,})")
"""A code, with its number: A1018, INV-1018. The number of A2018 would be taken for a year."""

_SHORT_NUMBER = re.compile(r"\d{1,2}")
"""May be part of a name that is written otherwise in the table, or a number to compare with."""

_OF_ANY_QUESTION = """
    a all any each every first hi last me most no ok some
"""
_NO_NAMES = FUNCTION_WORDS | frozenset(_OF_ANY_QUESTION.split())
"""Words that are cells too: "IN", "OR" and "ME" are states, and names only in capitals."""

_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")

_OTHER_ROWS = """
    above after another as before behind below besides between beyond else except excluding exceed exceeded exceeds
    followed following follows later least neither next not other others over percent percentage position preceded
    precedes preceding previous prior rank ranked ratio same share similar since subsequent succeeded succeeds than
    through top under until without
"""
TO_OTHER_ROWS = frozenset(_OTHER_ROWS.split())
"""Words that compare a named row with the rest, look past it, or leave it out: then all rows matter."""


class Sign(NamedTuple):
    """The rows that some words of a question tell apart, and the places of these words in it."""

    rows: frozenset[int]
    places: frozenset[int]


class NamedRows(NamedTuple):
    """
    Attributes:
        rows: numbers of the rows that a question names, from 0 and in order; empty: it names none.
        suffice: whether it needs no others.
        spelling: misspelt words of the question, each with that of the table it was read as.
        of_names: the rows of each name by itself.
        most: how many of the names each of ``rows`` has.
        others: the words of the question that are part of no name.
        flagged: whether a ``Sign`` told the rows apart too; by_value: whether it was a time or a limit.
    """

    rows: tuple[int, ...] = ()
    suffice: bool = False
    spelling: tuple[tuple[str, str], ...] = ()
    of_names: tuple[tuple[int, ...], ...] = ()
    most: int = 0
    others: frozenset[str] = frozenset()
    flagged: bool = False
    by_value: bool = False


def named_rows(question: str, table: Table) -> NamedRows:
    """Return the rows with the most cells whose whole text stands in the question.

    Case, accents and marks do not count. The words of a cell may stand in another order and with up to two others
    between them ("Adler, Ann" for Ann Adler), and so may the number of a code and a word of its header ("order number
    1018" for A1018). Of texts that stand in one another the longest counts. Texts of one character, those of the header
    and words that any question may have name no row, but for such a word in capitals in both ("IT"). Words that the
    table lacks are read as those of its names that they are most like ("Alder" as Adler) where the rows found so far do
    not suffice or stay among those named.
    """
    words = format_names(question).split()
    texts = _texts(table)
    spans = {*_together(words, texts.all), *_scattered(words, texts.of_several_words)}
    spans |= {*_in_capitals(question, words, texts.all)}
    found = _rows(words, texts, spans)
    if misspelt := {*_misspelt(words, texts)}:
        corrected = _rows(words, texts, spans | misspelt)
        if not found.suffice or {*found.rows} < {*corrected.rows}:
            return corrected
    return found


def _rows(words: Sequence[str], texts: _Texts, spans: Collection[_Span]) -> NamedRows:
    """Return the rows with the most of the outermost names."""
    spans = _outermost(spans)
    if not spans:
        return NamedRows()
    inside = frozenset().union(*(span.places for span in spans))
    others = frozenset(word for place, word in enumerate(words) if place not in inside)
    of_names = {
        name: tuple(row for row, of_row in enumerate(texts.of_rows) if name in of_row)
        for name in sorted({span.text for span in spans})
    }
    counts = Counter(row for rows in of_names.values() for row in rows)
    most = max(counts.values())
    rows = tuple(sorted(row for row, count in counts.items() if count == most))
    suffice = not others & TO_OTHER_ROWS and any(not _SHORT_NUMBER.fullmatch(name) for name in of_names)
    spelling = tuple(dict.fromkeys(pair for span in spans for pair in span.spelling))
    return NamedRows(rows, suffice, spelling, tuple(of_names.values()), most, others)


class _Span(NamedTuple):
    """The text of a cell, the places of its words in the question, and their spelling there and in the text."""

    text: str
    places: frozenset[int]
    spelling: tuple[tuple[str, str], ...] = ()


class _Texts(NamedTuple):
    """The texts of a table that may name its rows; in capitals those that only so are names.

    Attributes:
        of_several_words: by their first word.
        spelling: of their words and those of the header.
    """

    of_rows: list[frozenset[str]]
    all: frozenset[str]
    of_several_words: dict[str, list[str]]
    spelling: Spelling


@lru_cache(maxsize=8)
def _texts(table: Table) -> _Texts:
    header = [format_names(cell.text) for cell in table.header]
    no_names = {EMPTY, *_NO_NAMES, *header, *map(str.upper, header)}
    heads = [[word for word in text.split() if word not in _NO_NAMES] for text in header]
    of_rows = [
        frozenset(text for cell, head in zip(row, heads, strict=True) for text in _names(cell.text, head)) - no_names
        for row in table.rows
    ]
    every = frozenset().union(*of_rows)
    by_first_word = defaultdict[str, list[str]](list)
    for text in every:
        first, blank, _ = text.partition(" ")
        if blank:
            by_first_word[first].append(text)
    spelling = Spelling(word for text in (*every, *header) for word in text.split())
    return _Texts(of_rows, every, by_first_word, spelling)


def _names(cell: str, head: Sequence[str]) -> Iterator[str]:
    """Yield the text of a cell and, if it is a code, its number with each word of the header."""
    text = cell.strip()
    name = format_names(text)
    yield text if name in _NO_NAMES and _CAPITALS.fullmatch(text) else name
    if code := _CODE.fullmatch(text):
        yield from (f"{word} {code[1]}" for word in head)


def _together(words: Sequence[str], texts: frozenset[str]) -> Iterator[_Span]:
    for start in range(len(words)):
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
            text = " ".join(words[start:end])
            if len(text) >= _SHORTEST and text in texts:
                yield _Span(text, frozenset(range(start, end)))


def _in_capitals(question: str, words: Sequence[str], texts: frozenset[str]) -> Iterator[_Span]:
    if not question.isupper():
        capitals = {*_CAPITALS.findall(question)} & texts
        yield from (
            _Span(word.upper(), frozenset({place})) for place, word in enumerate(words) if word.upper() in capitals
        )


def _scattered(words: Sequence[str], by_first_word: Mapping[str, Sequence[str]]) -> Iterator[_Span]:
    asked = {*words}
    for text in (text for word in asked & by_first_word.keys() for text in by_first_word[word]):
        of_text = {*text.split()}
        if len(of_text) > 1 and of_text <= asked and not of_text & _NO_NAMES:
            for start in (place for place, word in enumerate(words) if word in of_text):
                window = range(start, min(start + len(of_text) + _BETWEEN, len(words)))
                places = frozenset(place for place in window if words[place] in of_text)
                if len({words[place] for place in places}) == len(of_text):
                    yield _Span(text, places)


def _misspelt(words: Sequence[str], texts: _Texts) -> Iterator[_Span]:
    """Yield names that stand in the question but for their spelling."""
    kept = _NO_NAMES | TO_OTHER_ROWS
    read = [word if word in kept else texts.spelling.corrected(word) for word in words]
    for text, places, _ in _together(read, texts.all):
        spelling = tuple((words[place], read[place]) for place in sorted(places) if words[place] != read[place])
        if spelling and (len(places) > 1 or is_misspelt(*spelling[0])):
            yield _Span(text, places, spelling)


def _outermost(spans: Collection[_Span]) -> list[_Span]:
    """Return the spans that lie in no other."""
    return [span for span in spans if not any(span.places < other.places for other in spans)]
