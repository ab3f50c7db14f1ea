"""Choose the texts of a table's cells: sentences of linked passages by TF-IDF, and SAT's histogram row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mate_cli.config.task import Input
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text import split_sentences

_HISTOGRAM_VALUES = 3


class SentenceRanker:
    """Rank the sentences of a table's passages; one TF-IDF fit serves all questions about the table.

    The release's ranking (paper section 4.1; docs/notes.md, note 9): scikit-learn's ``TfidfVectorizer`` with word 1-
    and 2-grams and ``max_df`` 0.9, fitted on these sentences; a score is the dot product with the question's vector. If
    it cannot be fitted (a single sentence, or no term left) all sentences tie.

    Args:
        passages: link -> text. All compete, even if no cell of the table links to them.
    """

    def __init__(self, passages: Mapping[str, str]) -> None:
        self.by_link = sentences_by_link(passages)
        self.sentences = [sentence for sentences in self.by_link.values() for sentence in sentences]
        from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

        self._vectorizer: Any = TfidfVectorizer(ngram_range=(1, 2), min_df=1, max_df=0.9)
        try:
            self._vectors = self._vectorizer.fit_transform(self.sentences)
        except ValueError:  # one sentence, or no term survives max_df
            self._vectorizer = None

    def scores(self, questions: Sequence[str]) -> np.ndarray:
        """Return float64 ``[questions, sentences]``; all 1 without a fit."""
        if self._vectorizer is None:
            return np.ones((len(questions), len(self.sentences)))
        return np.asarray((self._vectorizer.transform(questions) @ self._vectors.T).toarray())

    def top(self, questions: Sequence[str], k: int) -> list[list[str]]:
        """Return for each question the k sentences with the best scores over 0, best first, of ties the first.

        A sentence that occurs twice may take two of the k places.
        """
        scores = self.scores(questions)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return [
            [self.sentences[number] for number in best if row[number] > 0]
            for row, best in zip(scores, order, strict=True)
        ]


def sentences_by_link(passages: Mapping[str, str]) -> dict[str, list[str]]:
    """Split passages: link -> the sentences of its passage, in order."""
    return {link: split_sentences(text) for link, text in passages.items()}


def expand(table: Table, by_link: Mapping[str, list[str]], chosen: Sequence[str], kind: Input) -> list[str]:
    """Return the texts of a table, header first, row-major, with the chosen sentences of each body cell's links.

    ``both``: each link adds " ( s1 s2 )", its chosen sentences in their original order. ``passages``: a body cell has
    only those sentences, without brackets. ``table``: no sentences. Links of the header add nothing, as in the release.

    Args:
        by_link: link -> its sentences; other links add nothing.
    """
    selected = set(chosen) if kind != "table" else set()
    added = {link: " ".join(filter(selected.__contains__, by_link[link])) for link in by_link} if selected else {}
    added = {link: text for link, text in added.items() if text}
    body = (cell for row in table.rows for cell in row)
    header = [cell.text for cell in table.header]
    if kind == "passages":
        return header + [" ".join(_additions(cell, added)) for cell in body]
    return header + [cell.text + "".join(f" ( {text} )" for text in _additions(cell, added)) for cell in body]


def _additions(cell: Cell, added: Mapping[str, str]) -> list[str]:
    return [added[link] for link in dict.fromkeys(cell.links) if link in added] if added else []


def histogram_row(table: Table) -> list[str]:
    """Return the texts of SAT's histogram row, one per column (paper section 2; docs/notes.md, note 11).

    A cell lists the three most frequent values with their counts ("Italy 4 , France 2 , Spain 1"), of ties the first.
    Values are compared without case and outer blanks; empty cells do not count.
    """
    return [_value_counts([row[column].text for row in table.rows]) for column in range(table.num_columns)]


def _value_counts(texts: list[str]) -> str:
    first_spelling: dict[str, str] = {}
    counter: Counter[str] = Counter()
    for text in filter(None, map(str.strip, texts)):
        counter[text.lower()] += 1
        first_spelling.setdefault(text.lower(), text)
    return " , ".join(f"{first_spelling[value]} {count}" for value, count in counter.most_common(_HISTOGRAM_VALUES))
