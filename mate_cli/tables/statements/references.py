"""What the cells of a table name, and where a text mentions it (spec 5.3)."""

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
_SHORTEST_NAME = 3
_OF_ORDINALS = ("st", "nd", "rd", "th")  # "second" and "twelfth" end so too, and no cardinal word does


class Kind(Enum):
    """What sort of thing a cell names; one takes another's place only within a sort."""

    ENTITY = "entity"
    CARDINAL = "cardinal"
    ORDINAL = "ordinal"
    DATE = "date"


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A thing that cells of one column name, and those of no other; there is one for each thing of a table.

    Attributes:
        identity: the page that the cells link to, or the value that they are.
        rows: of the cells; names: their texts, sorted.
    """

    kind: Kind
    identity: Hashable
    column: int
    rows: frozenset[int]
    names: tuple[str, ...]


class Mention(NamedTuple):
    """``text[begin:end]`` names a thing."""

    begin: int
    end: int
    reference: Reference


class Token(NamedTuple):
    """A word, a number or a mark: ``text[begin:end]``. Marks between letters or digits are part of a word."""

    text: str
    begin: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, left to right, as they are written."""
    return [Token(match.group(), *match.span()) for match in _TOKEN.finditer(text)]


def references_of(table: Table) -> list[Reference]:
    """What the body names: cells with exactly one link name its page, cells that are a number or a date name that.

    The number 1, which texts mention for all sorts of reasons, is not there, nor are names of one or two letters, nor
    what cells of several columns name.
    """
    found: dict[tuple[Kind, Hashable], set[tuple[int, int]]] = defaultdict(set)
    for place, row in enumerate(table.rows):
        for column, cell in enumerate(row):
            if (own := _identified(cell)) is not None:
                found[own].add((place, column))
    return [
        _reference(table, kind, identity, places)
        for (kind, identity), places in found.items()
        if len({column for _, column in places}) == 1
    ]


class Mentions:
    """Finds what a text says of some references.

    An entity is mentioned by one of its names, the longest that fits, token by token with capitals as they are; a
    name of several entities counts for none. A number or a date is, however it is written.
    """

    def __init__(self, references: Iterable[Reference]) -> None:
        self._by_name: dict[tuple[str, ...], list[Reference]] = defaultdict(list)
        self._by_value: dict[tuple[Kind, Hashable], Reference] = {}
        self._lengths: dict[str, set[int]] = defaultdict(set)
        for own in references:
            if own.kind is not Kind.ENTITY:
                self._by_value[own.kind, own.identity] = own
                continue
            for key in {tuple(token.text for token in tokens_of(name)) for name in own.names}:
                self._by_name[key].append(own)
                self._lengths[key[0]].add(len(key))

    def find(self, text: str) -> list[Mention]:
        """The mentions in a text, left to right; none overlaps another."""
        tokens, found, reach = tokens_of(text), list[Mention](), 0
        for first, token in enumerate(tokens):
            if token.begin >= reach and (names := list(self._names_at(tokens, first))):
                length, references = names[0]
                reach = tokens[first + length - 1].end
                if len(references) == 1:
                    found.append(Mention(token.begin, reach, references[0]))
        taken = {place for own in found for place in range(own.begin, own.end)}
        found += (own for own in self._values(text, tokens) if taken.isdisjoint(range(own.begin, own.end)))
        return sorted(found, key=lambda own: own.begin)

    def hinted(self, text: str) -> set[Reference]:
        """All that a text might mention: also what is named within a longer name, or by a name of several."""
        tokens, lowered = tokens_of(text), text.lower()
        named = {own for first in range(len(tokens)) for _, names in self._names_at(tokens, first) for own in names}
        spans = (_of_span(span, lowered[span.begin : span.end]) for span in find_spans(lowered))
        return named | {self._by_value[value] for value in spans if value in self._by_value}

    def _names_at(self, tokens: list[Token], first: int) -> Iterator[tuple[int, list[Reference]]]:
        """The names that start at a token, by their lengths in tokens, the longest first, and whose they are."""
        for length in sorted(self._lengths.get(tokens[first].text, ()), reverse=True):
            key = tuple(token.text for token in tokens[first : first + length])
            if len(key) == length and key in self._by_name:
                yield length, self._by_name[key]

    def _values(self, text: str, tokens: list[Token]) -> Iterator[Mention]:
        """The numbers and dates that are whole tokens."""
        lowered = text.lower()
        if len(lowered) != len(text):  # a few letters have no small one of their own: the places would shift
            return
        begins, ends = {token.begin for token in tokens}, {token.end for token in tokens}
        for span in find_spans(lowered):
            written = lowered[span.begin : span.end]
            begin = span.begin + len(written) - len(written.lstrip())
            reference = self._by_value.get(_of_span(span, written))
            if reference is not None and begin in begins and span.end in ends:
                yield Mention(begin, span.end, reference)


def _identified(cell: Cell) -> tuple[Kind, Hashable] | None:
    text = normalize_for_match(cell.text)
    match find_spans(text):
        case [span] if (span.begin, span.end) == (0, len(text)):
            kind, value = _of_span(span, text)
            return None if value == 1 else (kind, value)
    if len(cell.links) == 1 and len(cell.text.strip()) >= _SHORTEST_NAME and _TOKEN.search(cell.text):
        return Kind.ENTITY, cell.links[0]
    return None


def _of_span(span: Span, written: str) -> tuple[Kind, Hashable]:
    """The sort and the value of a span; a year is a date."""
    value = span.values[-1]
    if isinstance(value, Date):
        return Kind.DATE, value
    return Kind.ORDINAL if written.endswith(_OF_ORDINALS) else Kind.CARDINAL, value


def _reference(table: Table, kind: Kind, identity: Hashable, places: set[tuple[int, int]]) -> Reference:
    names = sorted({table.rows[row][column].text.strip() for row, column in places})
    return Reference(kind, identity, min(places)[1], frozenset(row for row, _ in places), tuple(names))
