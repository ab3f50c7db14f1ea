"""The rows that a question tells apart by columns of yes and no: "the cheapest room with a projector"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from mate_cli.tables.named_rows import Sign
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import stems_of_cells
from mate_cli.tables.text import stem

FLAGS: tuple[tuple[str, str | None], ...] = (("yes", "no"), ("true", "false"), ("y", "n"), ("x", None))
"""What columns of yes and no have, in lower case; None: an empty cell."""

_MARKS = (*FLAGS, ("✓", "✗"), ("✓", None), ("✔", "✘"), ("✔", None))

_BETWEEN = 2
"""Other words between those of a header: "meals are included" is about "Meals included"."""

_NO_WORDS = frozenset(["no", "not", "without", "never", "non", "t"])  # "isn't" has the words "isn" and "t"
_AFTER_NEGATIONS = frozenset(["a", "an", "any", "the", "yet", "been", "being", "be", "have", "has"])
_VERBS = "is are was were does do did has have had can could will would"
_FIRST_OF_YES_OR_NO = frozenset(_VERBS.split())


def flagged_rows(words: Sequence[str], table: Table) -> list[Sign]:
    """Return the rows of which a column of yes and no says what a question does, for each such column.

    A question says so with the words of the header, in any order and form: "guided tours", "with no meals included".
    One that is to be answered by yes or no ("is it guided?") tells no rows apart.

    Args:
        words: of the question, as ``format_names`` gives them.
    """
    if not words or words[0] in _FIRST_OF_YES_OR_NO:
        return []
    signs = []
    for flag in _flags(table):
        if (places := _mention(flag.stems, words)) is not None:
            negations = _negations(words, places)
            signs.append(Sign(flag.no if negations else flag.yes, frozenset([*places, *negations])))
    return signs


def flag_columns(table: Table) -> frozenset[int]:
    """Return the columns of yes and no that have a name."""
    return frozenset(flag.column for flag in _flags(table))


class _Flag(NamedTuple):
    """A column of yes and no: the stems of the words of its header, and the rows that it says yes, or no, of."""

    column: int
    stems: frozenset[str]
    yes: frozenset[int]
    no: frozenset[int]


@lru_cache(maxsize=8)
def _flags(table: Table) -> tuple[_Flag, ...]:
    found = []
    for column, (header, cells) in enumerate(zip(table.header, zip(*table.rows, strict=True), strict=True)):
        texts = [cell.text.strip().lower() or None for cell in cells]
        different = {*texts}
        said = stems_of_cells([header])
        for yes, no in _MARKS if said else ():
            if different == {yes, no}:
                of_yes = frozenset(row for row, text in enumerate(texts) if text == yes)
                found.append(_Flag(column, said, of_yes, frozenset(range(len(texts))) - of_yes))
    return tuple(found)


def _mention(stems: frozenset[str], words: Sequence[str]) -> list[int] | None:
    """Return the places of words with all these stems, near one another."""
    of_words = [stem(word) for word in words]
    for start, word in enumerate(of_words):
        window = range(start, min(start + len(stems) + _BETWEEN, len(words)))
        if word in stems and stems <= {of_words[place] for place in window}:
            return [place for place in window if of_words[place] in stems]
    return None


def _negations(words: Sequence[str], places: Sequence[int]) -> list[int]:
    """Return the places of the words that say no between those of ``places`` or before them."""
    inside = [place for place in range(places[0], places[-1]) if words[place] in _NO_WORDS]
    place = places[0] - 1
    while place >= 0 and words[place] in _AFTER_NEGATIONS:
        place -= 1
    return [*inside, place] if place >= 0 and words[place] in _NO_WORDS else inside
