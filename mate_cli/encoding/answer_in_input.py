"""Does what is kept of a candidate cell still contain the answer, and where? (design.md section 5)"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mate_cli.encoding.features import NO_SPAN, Features
from mate_cli.encoding.tokenizer import CellTokenizer, Pieces
from mate_cli.tables.answer_match import normalise
from mate_cli.tables.table import Example


class AnswerSearch:
    """Looks for the answers of a list of examples among the kept tokens of their candidate cells.

    Answers and cells are compared as the words that their pieces spell, without ASCII punctuation and
    articles, as for candidates (spec 4.2); the answer's words must be neighbours in one cell.

    Args:
        number: gives the number of a text among those that will be tokenised.
    """

    def __init__(self, examples: Sequence[Example], number: Callable[[str], int]) -> None:
        self._answers = [
            [number(answer) for answer in example.answers or ()] if example.candidates else [] for example in examples
        ]

    def finds(self, example: int, features: Features, pieces: Pieces, tokenizer: CellTokenizer) -> bool:
        """Whether some candidate cell of this example keeps some answer."""
        answers = [tokenizer.words(pieces.of(answer)) for answer in self._answers[example]]
        if not answers:
            return False
        cells = [tokenizer.words(ids) for ids in _candidate_pieces(features)]
        return any(_contains(cell, answer) for answer in answers for cell in cells)

    def first_span(self, example: int, features: Features, pieces: Pieces, tokenizer: CellTokenizer) -> tuple[int, int]:
        """First and last token of the first answer in a candidate cell (paper section 5.2, checklist 42).

        A span has the pieces of an answer and whole words: unlike the release's (spec 1.4), which finds the answer
        "in" in "inn" where that is "in ##n".
        """
        found = []
        for answer in self._answers[example]:
            wanted = pieces.of(answer)
            starts = _occurrences(features, wanted, tokenizer)
            found += [(start, start + len(wanted) - 1) for start in starts[:1].tolist()]
        return min(found, default=NO_SPAN)


def _occurrences(features: Features, wanted: np.ndarray, tokenizer: CellTokenizer) -> np.ndarray:
    """Where pieces stand as whole words inside one candidate cell: their first tokens, ascending."""
    if len(wanted) > len(features):
        return np.zeros(0, dtype=np.int64)
    same = (np.lib.stride_tricks.sliding_window_view(features.input_ids, len(wanted)) == wanted).all(axis=1)
    first = np.flatnonzero(same & (features.labels[: len(same)] > 0))
    last = first + len(wanted) - 1
    one_cell = (features.row[first] == features.row[last]) & (features.column[first] == features.column[last])
    ends_word = ~tokenizer.is_continuation(np.append(features.input_ids, tokenizer.sep)[last + 1])
    return first[one_cell & ends_word]


def _candidate_pieces(features: Features) -> list[np.ndarray]:
    """The kept ids of each candidate cell."""
    places = np.flatnonzero(features.labels)
    row, column = features.row[places], features.column[places]
    starts = np.flatnonzero((np.diff(row) != 0) | (np.diff(column) != 0)) + 1
    return np.split(features.input_ids[places], starts)


def _contains(cell: str, answer: str) -> bool:
    wanted = normalise(answer)
    # Where nothing is left of an answer ("The"), its candidates are the cells that read exactly so.
    return f" {wanted} " in f" {normalise(cell)} " if wanted else answer == cell
