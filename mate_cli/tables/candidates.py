"""Which cells hold the answer: a string match over cell texts and linked passages (checklist 35, spec 4.2)."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from functools import cached_property

from mate_cli.tables.table import Coordinate, Table

_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))
_ARTICLES = {"a", "an", "the"}


def normalise(text: str) -> str:
    """Lower case, ASCII punctuation to spaces, no articles, single spaces."""
    words = text.translate(_PUNCTUATION).lower().split()
    return " ".join(word for word in words if word not in _ARTICLES)


class TableText:
    """A table and its passages, with their normalised texts kept for all questions on it.

    Args:
        passages: link -> text; a link without a passage matches nothing.
    """

    def __init__(self, table: Table, passages: Mapping[str, str]) -> None:
        self.table, self.passages = table, passages

    @cached_property
    def cells(self) -> list[list[str]]:
        return [[normalise(cell.text) for cell in row] for row in self.table.rows]

    @cached_property
    def linked(self) -> dict[str, str]:
        return {link: normalise(text) for link, text in self.passages.items()}


def candidate_cells(text: TableText, answer: str) -> list[Coordinate]:
    """Body cells whose text, or one of whose linked passages, contains the answer; row-major."""
    return _matching_cells(text, answer, with_passages=True)


def candidate_cells_in_table(text: TableText, answer: str) -> list[Coordinate]:
    """Body cells whose own text contains the answer; row-major."""
    return _matching_cells(text, answer, with_passages=False)


def answer_class(in_table: int, elsewhere: int) -> str:
    """The release's class of an answer by the number of its candidates in cell texts and in passages only."""
    if in_table and elsewhere:
        return "table_&_text"
    if not in_table and not elsewhere:
        return "no_answer"
    count, place = (in_table, "table") if in_table else (elsewhere, "text")
    return f"1_in_{place}" if count == 1 else f"2+_in_{place}"


def _matching_cells(text: TableText, answer: str, with_passages: bool) -> list[Coordinate]:
    """An answer of nothing but punctuation and articles matches every cell that is not empty, as in the release."""
    wanted = normalise(answer)
    contains = _Matcher(wanted)
    links = {link for link, words in text.linked.items() if contains(words)} if with_passages else set()
    return [
        (row, column)
        for row, cells in enumerate(text.table.rows)
        for column, cell in enumerate(cells)
        if contains(text.cells[row][column]) or not links.isdisjoint(cell.links)
    ]


class _Matcher:
    """Whether a normalised text contains a normalised answer between word borders."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.pattern = re.compile(rf"(?:\b|\s)({re.escape(wanted)})(?:\s|\b)")

    def __call__(self, words: str) -> bool:
        # The plain search is many times faster and rules out nearly all texts.
        return self.wanted in words and self.pattern.search(words) is not None


