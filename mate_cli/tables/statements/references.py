"""Find the things that the cells of a table name, and their mentions in a text (docs/notes.md, note 22)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text import normalize_for_match
from mate_cli.tables.values import Date, Span, find_spans

_TOKEN = re.compile(r"\w+(?:[-./:,'’]\w+)*|[^\w\s]")
_MIN_NAME = 3
_OF_ORDINALS = ("st", "nd", "rd", "th")  # also of "second" and "twelfth", and of no cardinal word


class Kind(Enum):
    """Kind of a thing; a thing is only replaced by another of its kind."""

    ENTITY = "entity"
    CARDINAL = "cardinal"
    ORDINAL = "ordinal"
    DATE = "date"


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A thing that cells of exactly one column name.

    Attributes:
        identity: the page that the cells link to, or their value.
        rows: rows of the cells; names: their texts, sorted.
    """

    kind: Kind
    identity: Hashable
    column: int
    rows: frozenset[int]
    names: tuple[str, ...]


class Mention(NamedTuple):
    """A mention of a thing, ``text[begin:end]``."""

    begin: int
    end: int
    reference: Reference


class Token(NamedTuple):
    """A word, number or mark, ``text[begin:end]``; marks between letters or digits are part of a word."""

    text: str
    begin: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """Split a text into tokens, left to right, unchanged."""
    return [Token(match.group(), *match.span()) for match in _TOKEN.finditer(text)]


def references_of(table: Table) -> list[Reference]:
    """Return the things that the body names: the page of a cell's only link, or the number or date of a cell.

    Left out are the number 1, which texts mention for many reasons, names of one or two letters, and things in several
    columns.
    """
    places: dict[tuple[Kind, Hashable], list[tuple[int, int]]] = defaultdict(list)
    for row, cells in enumerate(table.rows):
        for column, cell in enumerate(cells):
            if (key := _key(cell)) is not None:
                places[key].append((row, column))
    references = []
    for (kind, identity), named in places.items():
        columns = {column for _, column in named}
        if len(columns) == 1:
            names = sorted({table.rows[row][column].text.strip() for row, column in named})
            rows = frozenset(row for row, _ in named)
            references.append(Reference(kind, identity, columns.pop(), rows, tuple(names)))
    return references


class Mentions:
    """Finds mentions of references in a text.

    An entity is mentioned by one of its names, the longest that matches token by token, with capitals; a name of
    several entities is no mention. A number or date may be written in any way.
    """

    def __init__(self, references: Iterable[Reference]) -> None:
        self._by_name: dict[tuple[str, ...], list[Reference]] = defaultdict(list)
        self._by_value: dict[tuple[Kind, Hashable], Reference] = {}
        self._lengths: dict[str, set[int]] = defaultdict(set)
        for reference in references:
            if reference.kind is not Kind.ENTITY:
                self._by_value[reference.kind, reference.identity] = reference
                continue
            for key in {tuple(token.text for token in tokens_of(name)) for name in reference.names}:
                self._by_name[key].append(reference)
                self._lengths[key[0]].add(len(key))

    def find(self, text: str) -> list[Mention]:
        """Return the mentions in a text, left to right, without overlaps."""
        tokens, mentions, reach = tokens_of(text), list[Mention](), 0
        for first, token in enumerate(tokens):
            if token.begin >= reach and (names := list(self._names_at(tokens, first))):
                length, references = names[0]
                reach = tokens[first + length - 1].end
                if len(references) == 1:
                    mentions.append(Mention(token.begin, reach, references[0]))
        taken = {place for mention in mentions for place in range(mention.begin, mention.end)}
        mentions += (value for value in self._values(text, tokens) if taken.isdisjoint(range(value.begin, value.end)))
        return sorted(mentions, key=lambda mention: mention.begin)

    def hinted(self, text: str) -> set[Reference]:
        """Return all things that a text may mention, also within a longer name or by a name of several things."""
        tokens, lowered = tokens_of(text), text.lower()
        at_tokens = (things for first in range(len(tokens)) for _, things in self._names_at(tokens, first))
        named = {thing for things in at_tokens for thing in things}
        spans = (_kind_and_value(span, lowered[span.begin : span.end]) for span in find_spans(lowered))
        return named | {self._by_value[value] for value in spans if value in self._by_value}

    def _names_at(self, tokens: list[Token], first: int) -> Iterator[tuple[int, list[Reference]]]:
        """Yield the lengths of the names that start at a token, the longest first, with their references."""
        for length in sorted(self._lengths.get(tokens[first].text, ()), reverse=True):
            key = tuple(token.text for token in tokens[first : first + length])
            if len(key) == length and key in self._by_name:
                yield length, self._by_name[key]

    def _values(self, text: str, tokens: list[Token]) -> Iterator[Mention]:
        """Yield the numbers and dates that are whole tokens."""
        lowered = text.lower()
        if len(lowered) != len(text):  # a few letters become two when lowered, which shifts all places
            return
        begins, ends = {token.begin for token in tokens}, {token.end for token in tokens}
        for span in find_spans(lowered):
            written = lowered[span.begin : span.end]
            begin = span.begin + len(written) - len(written.lstrip())
            reference = self._by_value.get(_kind_and_value(span, written))
            if reference is not None and begin in begins and span.end in ends:
                yield Mention(begin, span.end, reference)


def _key(cell: Cell) -> tuple[Kind, Hashable] | None:
    text = normalize_for_match(cell.text)
    match find_spans(text):
        case [span] if (span.begin, span.end) == (0, len(text)):
            kind, value = _kind_and_value(span, text)
            return None if value == 1 else (kind, value)
    if len(cell.links) == 1 and len(cell.text.strip()) >= _MIN_NAME and _TOKEN.search(cell.text):
        return Kind.ENTITY, cell.links[0]
    return None


def _kind_and_value(span: Span, written: str) -> tuple[Kind, Hashable]:
    """Return the kind and the value of a span; a year is a date."""
    value = span.values[-1]
    if isinstance(value, Date):
        return Kind.DATE, value
    return Kind.ORDINAL if written.endswith(_OF_ORDINALS) else Kind.CARDINAL, value
