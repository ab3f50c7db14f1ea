"""Does what is kept of a candidate cell still contain the answer? (design.md section 5)"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mate_cli.encoding.features import Features
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
