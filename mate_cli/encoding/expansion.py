"""Which sentences of the linked passages join the table, by TF-IDF (spec 4.3, checklist 29)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mate_cli.tables.sentences import split_sentences
from mate_cli.tables.table import Cell, Input, Table


class SentenceRanker:
    """The sentences of a table's passages, with a TF-IDF fit that serves all questions about the table.

    The release's ranking: scikit-learn's ``TfidfVectorizer`` with word 1- and 2-grams and ``max_df`` 0.9,
    fitted on these sentences alone; the score is the dot product with the question's vector. Where it cannot
    be fitted (a single sentence, or no term is left) the release drops the example; here all sentences then
    tie, so that the first k are taken.

    Args:
        passages: link -> text. All compete, whether or not a cell of the table links to them.
    """

    def __init__(self, passages: Mapping[str, str]) -> None:
        self.by_link = sentences_by_link(passages)
        self.sentences = [sentence for own in self.by_link.values() for sentence in own]
        self._vectorizer, self._vectors = _fit(self.sentences)

    def scores(self, questions: Sequence[str]) -> np.ndarray:
        """float64 ``[questions, sentences]``; all 1 where there is nothing to rank by."""
        if self._vectorizer is None:
            return np.ones((len(questions), len(self.sentences)))
        return np.asarray((self._vectorizer.transform(questions) @ self._vectors.T).toarray())

    def top(self, questions: Sequence[str], k: int) -> list[list[str]]:
        """For each question the k best sentences with a score over 0; best first, of equals the earlier.

        A sentence that occurs twice may take two of the k places.
        """
        scores = self.scores(questions)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return [
            [self.sentences[number] for number in best if own[number] > 0]
            for own, best in zip(scores, order, strict=True)
        ]


def sentences_by_link(passages: Mapping[str, str]) -> dict[str, list[str]]:
    """link -> the sentences of its passage, in order."""
    return {link: split_sentences(text) for link, text in passages.items()}


def expand(table: Table, by_link: Mapping[str, list[str]], chosen: Sequence[str], kind: Input) -> list[str]:
    """The texts of a table, header first, row-major, with the chosen sentences of each body cell's links.

    ``both``: a link adds " ( s1 s2 )", its chosen sentences in their original order. ``passages``: of body
    cells only those sentences stay, without the brackets. ``table``: nothing is added. Links of the header
    add nothing, as in the release.

    Args:
        by_link: the sentences of each link; a link that is not in it adds nothing.
    """
    wanted = set(chosen) if kind != "table" else set()
    added = {link: " ".join(s for s in own if s in wanted) for link, own in by_link.items()} if wanted else {}
    added = {link: text for link, text in added.items() if text}
    body = (cell for row in table.rows for cell in row)
    header = [cell.text for cell in table.header]
    if kind == "passages":
        return header + [" ".join(_additions(cell, added)) for cell in body]
    return header + [cell.text + "".join(f" ( {text} )" for text in _additions(cell, added)) for cell in body]


def _additions(cell: Cell, added: Mapping[str, str]) -> list[str]:
    if not cell.links or not added:
        return []
    return [added[link] for link in dict.fromkeys(cell.links) if link in added]


def _fit(sentences: list[str]) -> tuple[Any, Any]:
    """The vectorizer and the sentences' vectors, or None twice where there is nothing to rank by."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=1, max_df=0.9)
    try:
        return vectorizer, vectorizer.fit_transform(sentences)
    except ValueError:  # one sentence, or no term survives max_df
        return None, None
