"""Where an answer stands in a table: the string match behind the candidate cells (checklist 35, spec 4.2)."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass

from mate_cli.tables.table import Cell, Coordinate, Table

_ARTICLES = frozenset(("a", "an", "the"))
_PUNCTUATION_TO_SPACE = str.maketrans(dict.fromkeys(string.punctuation, " "))


def normalise(text: str) -> str:
    """Lower-case ``text`` without ASCII punctuation and articles, its words parted by one space.

    Other characters stay, dashes and accents included.
    """
    words = text.translate(_PUNCTUATION_TO_SPACE).lower().split()
    return " ".join([word for word in words if word not in _ARTICLES])


@dataclass(frozen=True, slots=True)
class AnswerMatch:
    """The body cells that hold an answer, row-major, parted by where it stands.

    Attributes:
        in_text: cells whose own text holds the answer.
        in_passage: the other cells that hold it in a passage they link to.
    """

    in_text: tuple[Coordinate, ...] = ()
    in_passage: tuple[Coordinate, ...] = ()

    @property
    def candidates(self) -> tuple[Coordinate, ...]:
        """All of them, row-major."""
        return tuple(sorted(self.in_text + self.in_passage))

    @property
    def kind(self) -> str:
        """The release's class of a question: how many cells hold the answer, and where."""
        if self.in_text and self.in_passage:
            return "table_&_text"
        if not (self.in_text or self.in_passage):
            return "no_answer"
        count = len(self.in_text) or len(self.in_passage)
        return ("1" if count == 1 else "2+") + ("_in_table" if self.in_text else "_in_text")


class AnswerFinder:
    """Finds answers in one table; every text is normalised at most once, and only where it may matter.

    A text holds an answer when the normalised answer stands in the normalised text as whole words ("1 10" in
    "1 10 223"). Where nothing is left of an answer ("The", "-"), the release matches every cell that is not
    empty; here only the cells that read exactly so, without regard to case: a label that every cell bears
    teaches nothing and makes every prediction right.
    """

    def __init__(self, table: Table, passages: Mapping[str, str]) -> None:
        self._table = table
        self._cells = [
            ((r, c), cell) for r, row in enumerate(table.rows) for c, cell in enumerate(row) if cell.text or cell.links
        ]
        self._texts = [_SearchText(cell.text) for _, cell in self._cells]
        self._passages = {link: _SearchText(text) for link, text in passages.items()}

    def find(self, answer: str) -> AnswerMatch:
        """The cells that hold ``answer``.

        Raises:
            KeyError: a cell links to a passage that is not there.
        """
        wanted = normalise(answer)
        if not wanted:
            return self._find_verbatim(answer)
        pattern = _WholeWords(wanted)
        linked: dict[str, bool] = {}
        in_text, in_passage = [], []
        for (place, cell), text in zip(self._cells, self._texts, strict=True):
            if pattern.in_text(text):
                in_text.append(place)
            elif self._linked(cell, pattern, linked):
                in_passage.append(place)
        return AnswerMatch(tuple(in_text), tuple(in_passage))

    def _linked(self, cell: Cell, pattern: _WholeWords, known: dict[str, bool]) -> bool:
        for link in cell.links:
            if link not in known:
                known[link] = pattern.in_text(self._passages[link])
        return any(known[link] for link in cell.links)

    def _find_verbatim(self, answer: str) -> AnswerMatch:
        wanted = answer.strip().lower()
        same = (place for place, cell in self._cells if cell.text.strip().lower() == wanted)
        return AnswerMatch(tuple(same) if wanted else ())


def candidate_cells(table: Table, passages: Mapping[str, str], answer: str) -> list[Coordinate]:
    """The body cells whose text or linked passages hold ``answer``, row-major (checklist 35).

    For many answers in one table, keep an ``AnswerFinder``.
    """
    return list(AnswerFinder(table, passages).find(answer).candidates)


class _SearchText:
    """A text, its lower case at once and its normal form on demand."""

    __slots__ = ("_normal", "lower", "raw")

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.lower = raw.lower()
        self._normal: str | None = None

    @property
    def normal(self) -> str:
        if self._normal is None:
            self._normal = normalise(self.raw)
        return self._normal


class _WholeWords:
    """Whole-word search for one normalised answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.longest = max(answer.split(), key=len)
        self.regex = re.compile(rf"(?:\b|\s){re.escape(answer)}(?:\s|\b)")

    def in_text(self, text: _SearchText) -> bool:
        # Two cheap tests before the exact one: few texts pass them. A capital sigma's lower case depends on
        # what follows it, so there the lower case before normalisation may differ from the one after.
        if self.longest not in text.lower and "Σ" not in text.raw:
            return False
        return self.answer in text.normal and self.regex.search(text.normal) is not None
