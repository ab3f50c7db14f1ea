"""Find the table of many that a question is about: by words, then among the best of these by meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mate_cli.models.sentence_encoder import SentenceEncoder
from mate_cli.tables.table_index import TableIndex

CANDIDATES, WEIGHT = 50, 20.0
"""How many tables with the best BM25 scores are compared by meaning, and what a cosine of 1 adds to such a score.

Chosen on 1,000 questions each of HybridQA's and WikiTableQuestions' train."""


class TableSearch:
    """Ranks tables for a question: by BM25 and, where there is an encoder, by the similarity of their openings.

    Each table is encoded once, when it is first among the candidates.
    """

    def __init__(self, index: TableIndex, encoder: SentenceEncoder | None) -> None:
        self.index, self._encoder = index, encoder
        self._vectors: dict[int, NDArray[np.float32]] = {}

    def rank(self, questions: Sequence[str]) -> list[dict[int, float]]:
        """Return for each question the number and the score of at most ``CANDIDATES`` tables, best first.

        Of equal ones the first comes first. Without an encoder, tables without a word of the question are left out.
        """
        scores = self.index.scores(questions)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :CANDIDATES]
        found = np.take_along_axis(scores, best, axis=1)
        if self._encoder is not None:
            for row, (asked, places) in enumerate(zip(self._encoder.vectors(questions), best, strict=True)):
                found[row] += WEIGHT * (self.vectors(places.tolist()) @ asked)
        ranked = []
        for row, places in zip(found, best, strict=True):
            order = [place for place in np.argsort(-row, kind="stable") if self._encoder is not None or row[place] > 0]
            ranked.append({int(places[place]): float(row[place]) for place in order})
        return ranked

    def vectors(self, tables: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of the openings of tables, float32 ``[tables, hidden]``."""
        assert self._encoder is not None
        new = [number for number in dict.fromkeys(tables) if number not in self._vectors]
        if new:
            made = self._encoder.vectors([self.index.openings[number] for number in new])
            self._vectors.update(zip(new, made, strict=True))
        return np.stack([self._vectors[number] for number in tables])
