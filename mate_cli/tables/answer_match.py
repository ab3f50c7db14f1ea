"""Find the candidate cells of an answer by string match (docs/notes.md, note 17)."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from mate_cli.tables.table import Cell, Coordinate, Table

_ARTICLES = frozenset(("a", "an", "the"))
_PUNCTUATION_TO_SPACE = str.maketrans(dict.fromkeys(string.punctuation, " "))


def normalise(text: str) -> str:
    """Lower the case and remove ASCII punctuation and articles; other characters, accents included, stay."""
    words = text.translate(_PUNCTUATION_TO_SPACE).lower().split()
    return " ".join([word for word in words if word not in _ARTICLES])


@dataclass(frozen=True, slots=True)
class AnswerMatch:
    """The body cells that contain an answer, row-major.

    Attributes:
        in_text: cells whose own text contains it.
        in_passage: other cells that link to a passage that contains it.
    """

    in_text: tuple[Coordinate, ...] = ()
    in_passage: tuple[Coordinate, ...] = ()

    @property
    def candidates(self) -> tuple[Coordinate, ...]:
        """All of them, row-major."""
        return tuple(sorted(self.in_text + self.in_passage))


class AnswerFinder:
    """Finds answers in one table; each text is normalized at most once.

    A text contains an answer if the normalized answer occurs in the normalized text as whole words ("1 10" in
    "1 10 223"). For an answer that normalizes to "" ("The", "-") the release takes every cell that is not empty; here
    only cells with exactly that text, up to case, because a label on every cell teaches nothing.
    """

    def __init__(self, table: Table, passages: Mapping[str, str]) -> None:
        self._cells = [
            ((r, c), cell) for r, row in enumerate(table.rows) for c, cell in enumerate(row) if cell.text or cell.links
        ]
        self._texts = [_SearchText(cell.text) for _, cell in self._cells]
        self._passages = {link: _SearchText(text) for link, text in passages.items()}

    def find(self, answer: str) -> AnswerMatch:
        """Return the cells that contain ``answer``.

        Raises:
            KeyError: a cell links to a missing passage.
        """
        normal = normalise(answer)
        if not normal:
            verbatim = answer.strip().lower()
            same = (place for place, cell in self._cells if verbatim and cell.text.strip().lower() == verbatim)
            return AnswerMatch(tuple(same))
        pattern = _WholeWords(normal)
        by_link: dict[str, bool] = {}
        in_text, in_passage = [], []
        for (place, cell), text in zip(self._cells, self._texts, strict=True):
            if pattern.in_text(text):
                in_text.append(place)
            elif self._is_linked(cell, pattern, by_link):
                in_passage.append(place)
        return AnswerMatch(tuple(in_text), tuple(in_passage))

    def _is_linked(self, cell: Cell, pattern: _WholeWords, by_link: dict[str, bool]) -> bool:
        for link in cell.links:
            if link not in by_link:
                by_link[link] = pattern.in_text(self._passages[link])
        return any(by_link[link] for link in cell.links)


class _SearchText:
    """A text with its lower case, and its normal form on demand."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.lower = raw.lower()

    @cached_property
    def normal(self) -> str:
        return normalise(self.raw)


class _WholeWords:
    """Whole-word search for one normalized answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.longest = max(answer.split(), key=len)
        self.regex = re.compile(rf"(?:\b|\s){re.escape(answer)}(?:\s|\b)")

    def in_text(self, text: _SearchText) -> bool:
        # Two cheap tests before the exact one: few texts pass them. The lower case of a capital sigma depends on the
        # next character, so there the lower case before normalization may differ from the one after.
        if self.longest not in text.lower and "Σ" not in text.raw:
            return False
        return self.answer in text.normal and self.regex.search(text.normal) is not None
