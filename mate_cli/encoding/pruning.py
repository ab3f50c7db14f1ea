"""Heuristic exact match (HEM): a table that does not fit keeps the columns nearest to the question.

Paper section 2; docs/notes.md, note 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.linearize import TableText
from mate_cli.encoding.tokenizer import Pieces
from mate_cli.tables.table import Example
from mate_cli.tables.text import format_text, stem


class ColumnPruner:
    """Prunes columns of tables in a batch by the stems that they share with the questions.

    Args:
        texts: the texts of questions and cells; pieces: their pieces.
    """

    def __init__(self, texts: Sequence[str], pieces: Pieces, options: EncodingOptions) -> None:
        self._options = options
        self._lengths = np.diff(pieces.starts)
        self._stems_of_text = cache(lambda number: stems(texts[number]))
        self._stems_of_column: dict[bytes, frozenset[str]] = {}

    def pruned(self, text: TableText, example: Example) -> TableText:
        """Return the example with the columns to keep; unchanged if all columns fit, or none does.

        If an answer of several cells loses one, none is labelled, as in the release.
        """
        lengths = self._lengths[text.cells].reshape(-1, max(text.columns, 1)).sum(0)
        budget = self._options.max_tokens - 2 - int(self._lengths[text.question])
        if lengths.sum() <= budget:
            return text
        kept = _fitting(self._nearest_first(text, example), lengths, budget)
        if not kept.any():
            return text
        labels = text.marks["labels"]
        lost = labels.reshape(-1, text.columns)[:, ~kept].any()
        marks = {"labels": np.zeros_like(labels)} if lost and self._options.whole_answer else {}
        return replace(text, kept=kept, marks={**text.marks, **marks})

    def _nearest_first(self, text: TableText, example: Example) -> list[int]:
        """Sort columns: those of the previous answer first, then by similarity to all questions so far."""
        question = stems(" ".join([*example.earlier, example.question]))
        answered = {column for _, column in example.previous}
        scores = [similarity(self._column(text.cells[c :: text.columns]), question) for c in range(text.columns)]
        return sorted(range(text.columns), key=lambda column: (column not in answered, -scores[column]))

    def _column(self, cells: np.ndarray) -> frozenset[str]:
        key = cells.tobytes()
        if key not in self._stems_of_column:
            self._stems_of_column[key] = frozenset().union(*map(self._stems_of_text, cells.tolist()))
        return self._stems_of_column[key]


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text; of "EMPTY" if it has none, as in the release."""
    return frozenset(map(stem, format_text(text).split()))


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets."""
    return len(first & second) / len(first | second)


def _fitting(columns: Iterable[int], lengths: np.ndarray, budget: int) -> np.ndarray:
    """Keep each column, in order, that still fits; bool as ``lengths``."""
    kept = np.zeros(len(lengths), dtype=bool)
    for column in columns:
        kept[column] = lengths[column] + lengths[kept].sum() <= budget
    return kept
