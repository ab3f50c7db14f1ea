"""HEM, heuristic exact match: a table that does not fit keeps the columns nearest to the question (spec 6.1).

The paper's section 2 says of such choices of columns that they can be combined with its own attention (checklist 61).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.linearize import TableText
from mate_cli.encoding.tokenizer import Pieces
from mate_cli.tables.table import Example
from mate_cli.tables.text import format_text


class ColumnPruner:
    """Prunes the columns of tables whose texts are numbered among those of a batch.

    What columns share with questions are stems, of header and cells; each column's are found once.

    Args:
        texts: of questions and cells; pieces: theirs.
    """

    def __init__(self, texts: Sequence[str], pieces: Pieces, options: EncodingOptions) -> None:
        self._texts, self._options = texts, options
        self._lengths = np.diff(pieces.starts)
        self._stems_of_text = cache(self._find_stems)
        self._stems_of_column: dict[bytes, frozenset[str]] = {}

    def pruned(self, text: TableText, example: Example) -> TableText:
        """The example with the columns named that stay; as it is where all of them fit, or not even one does.

        Where the answer is several cells together and one of them goes, none is labelled, as in the release.
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
        """The columns of the answer before first, then those that share most with all questions so far."""
        asked = stems(" ".join([*example.earlier, example.question]))
        answered = {column for _, column in example.previous}
        scores = [similarity(self._column(text.cells[c :: text.columns]), asked) for c in range(text.columns)]
        return sorted(range(text.columns), key=lambda column: (column not in answered, -scores[column]))

    def _column(self, cells: np.ndarray) -> frozenset[str]:
        key = cells.tobytes()
        if key not in self._stems_of_column:
            self._stems_of_column[key] = frozenset().union(*map(self._stems_of_text, cells.tolist()))
        return self._stems_of_column[key]

    def _find_stems(self, number: int) -> frozenset[str]:
        return stems(self._texts[number])


def stems(text: str) -> frozenset[str]:
    """The stems of the words of a text; that of "EMPTY" where it has none, as in the release."""
    return frozenset(map(_stem, format_text(text).split()))


def similarity(some: frozenset[str], others: frozenset[str]) -> float:
    """What two sets share, as a part of what they have together."""
    return len(some & others) / len(some | others)


def _fitting(columns: Iterable[int], lengths: np.ndarray, budget: int) -> np.ndarray:
    """Which columns stay, bool as ``lengths``: in their order each that still fits."""
    kept = np.zeros(len(lengths), dtype=bool)
    for column in columns:
        kept[column] = lengths[column] + lengths[kept].sum() <= budget
    return kept


@lru_cache(maxsize=1 << 18)
def _stem(word: str) -> str:
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer  # the release's; imports much

    return PorterStemmer()
