"""The tokens of a packed batch sorted by document and line, as the heads of one kind see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mate_cli.attention.pattern import Kind
from mate_cli.attention.plan import Layout
from mate_cli.attention.shape import FILLER


class SortedTokens(NamedTuple):
    """
    Attributes:
        tokens: int64 ``[real tokens]``, by document, then line, then place; the question of a document is first.
        document, rank: of each of ``tokens``: its document, its number within it.
        line, is_question: by token, ``[all tokens]``: row or column (0 in the question), whether it is question;
            ``FILLER`` is the last line, and seen by filler alone.
    """

    tokens: np.ndarray
    document: np.ndarray
    rank: np.ndarray
    line: np.ndarray
    is_question: np.ndarray

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """May tokens of one document attend to each other? Broadcasts; ``len(line)`` stands for no token."""
        line = np.r_[self.line, FILLER]
        question = np.r_[self.is_question, False]
        none = len(self.line)
        pairs = (line[queries] == line[keys]) | (question[queries] & (line[keys] != FILLER)) | question[keys]
        return pairs & (queries < none) & (keys < none)


def sort_by_line(kind: Kind, layout: Layout) -> SortedTokens:
    """Sort for row heads or column heads; ties keep their order, as in the release (spec 2.4)."""
    line = layout.row if kind == "row" else layout.column
    is_question = layout.segment == 0
    real = np.flatnonzero(layout.document >= 0)
    sorted_line = np.where(line == FILLER, np.iinfo(line.dtype).max, line)
    tokens = real[np.lexsort((~is_question[real], sorted_line[real], layout.document[real]))]
    document = layout.document[tokens]
    starts = np.flatnonzero(np.r_[len(tokens) > 0, np.diff(document) != 0])
    rank = np.arange(len(tokens)) - np.repeat(starts, np.diff(np.r_[starts, len(tokens)]))
    return SortedTokens(tokens, document, rank, line, is_question)
