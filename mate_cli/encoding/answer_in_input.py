"""Find answers in the encoded tokens of candidate cells, after truncation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mate_cli.encoding.features import NO_SPAN, Features
from mate_cli.encoding.tokenizer import CellTokenizer, Pieces
from mate_cli.tables.answer_match import normalise
from mate_cli.tables.table import Example


class AnswerSearch:
    """Finds the answers of examples in the kept tokens of their candidate cells.

    Answers and cells are compared as the words that their pieces spell, without ASCII punctuation and articles, as for
    candidates (docs/notes.md, note 17); the words of an answer must be consecutive in one cell.

    Args:
        number: returns the number of a text among the texts to tokenize.
    """

    def __init__(self, examples: Sequence[Example], number: Callable[[str], int]) -> None:
        self._answers = [
            [number(answer) for answer in example.answers or ()] if example.candidates else [] for example in examples
        ]

    def finds(self, example: int, features: Features, pieces: Pieces, tokenizer: CellTokenizer) -> bool:
        """Return whether a candidate cell of this example still contains an answer."""
        answers = [tokenizer.words(pieces.of(answer)) for answer in self._answers[example]]
        if not answers:
            return False
        cells = [tokenizer.words(ids) for ids in _candidate_pieces(features)]
        return any(_contains(cell, answer) for answer in answers for cell in cells)

    def first_span(self, example: int, features: Features, pieces: Pieces, tokenizer: CellTokenizer) -> tuple[int, int]:
        """Return the first and last token of the first answer in a candidate cell (paper section 4.2).

        A span consists of whole words, unlike in the release (docs/notes.md, note 18).
        """
        spans = []
        for answer in self._answers[example]:
            ids = pieces.of(answer)
            starts = _occurrences(features, ids, tokenizer)
            spans += [(start, start + len(ids) - 1) for start in starts[:1].tolist()]
        return min(spans, default=NO_SPAN)


def _occurrences(features: Features, ids: np.ndarray, tokenizer: CellTokenizer) -> np.ndarray:
    """Return the first tokens, ascending, of the places where ``ids`` are whole words inside one candidate cell."""
    if len(ids) > len(features):
        return np.zeros(0, dtype=np.int64)
    same = (np.lib.stride_tricks.sliding_window_view(features.input_ids, len(ids)) == ids).all(axis=1)
    first = np.flatnonzero(same & (features.labels[: len(same)] > 0))
    last = first + len(ids) - 1
    one_cell = (features.row[first] == features.row[last]) & (features.column[first] == features.column[last])
    ends_word = ~tokenizer.is_continuation(np.append(features.input_ids, tokenizer.sep)[last + 1])
    return first[one_cell & ends_word]


def _candidate_pieces(features: Features) -> list[np.ndarray]:
    """Return the kept ids of each candidate cell."""
    places = np.flatnonzero(features.labels)
    row, column = features.row[places], features.column[places]
    starts = np.flatnonzero((np.diff(row) != 0) | (np.diff(column) != 0)) + 1
    return np.split(features.input_ids[places], starts)


def _contains(cell: str, answer: str) -> bool:
    normal = normalise(answer)
    # An answer that normalizes to "" ("The") has as candidates the cells with exactly its text.
    return f" {normal} " in f" {normalise(cell)} " if normal else answer == cell
