"""Rankings that need no training, to stand beside a trained selector (design.md section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from mate_cli.metrics.cell_selection import KS, rank_cells
from mate_cli.tables.table import Cell, Coordinate, Example

Rankings = dict[str, list[Coordinate]]
"""Question id -> all body cells, best first."""

SentenceSplitter = Callable[[str], list[str]]


def expected_random_hits(examples: Sequence[Example], ks: Sequence[int] = KS) -> dict[int, float]:
    """Hits@k that a random order of the cells has on average, over every question with an answer field."""
    answered = [example for example in examples if example.answers is not None]
    return {k: float(np.mean([_random_hit(example, k) for example in answered] or [0.0])) for k in ks}


def random_ranking(examples: Sequence[Example], seed: int = 0) -> Rankings:
    """The cells of each question in a random order."""
    generator = np.random.default_rng(seed)
    return {example.id: rank_cells(generator.random(_shape(example))) for example in examples}


def tfidf_cell_ranking(examples: Sequence[Example]) -> Rankings:
    """Cells by the cosine between the question and the cell's text with all that it links to.

    Terms are the release's, words and pairs of words (spec 4.3), weighted within the table; each table is
    fitted once.
    """
    return _rank_by_table(examples, _cell_documents)


def tfidf_sentence_ranking(examples: Sequence[Example], split: SentenceSplitter) -> Rankings:
    """Cells by the cosine between the question and the nearest sentence of what the cell links to.

    A cell without links scores 0. Terms and fit as in ``tfidf_cell_ranking``.

    Args:
        split: parts a passage into sentences.
    """
    sentences = cache(split)  # passages recur across tables

    def documents(example: Example) -> list[list[str]]:
        by_link = {link: sentences(text) for link, text in example.passages.items()}
        return [[sentence for link in cell.links for sentence in by_link[link]] for cell in _cells(example)]

    return _rank_by_table(examples, documents)


def _random_hit(example: Example, k: int) -> float:
    rows, columns = _shape(example)
    cells, wrong = rows * columns, rows * columns - len(example.candidates)
    return 1 - comb(wrong, k) / comb(cells, k) if k <= cells else float(bool(example.candidates))


def _shape(example: Example) -> tuple[int, int]:
    return example.table.num_rows, example.table.num_columns


def _cells(example: Example) -> Iterator[Cell]:
    return (cell for row in example.table.rows for cell in row)


def _cell_documents(example: Example) -> list[list[str]]:
    return [[" ".join([cell.text, *(example.passages[link] for link in cell.links)])] for cell in _cells(example)]


def _rank_by_table(examples: Sequence[Example], documents: Callable[[Example], list[list[str]]]) -> Rankings:
    """Fit each table's documents once; a cell scores what the best of its documents scores."""
    by_table: dict[int, list[Example]] = {}
    for example in examples:
        by_table.setdefault(id(example.table), []).append(example)
    rankings: Rankings = {}
    for own in by_table.values():
        scores = _cell_scores(documents(own[0]), [example.question for example in own])
        for example, cells in zip(own, scores, strict=True):
            rankings[example.id] = rank_cells(cells.reshape(_shape(example)))
    return {example.id: rankings[example.id] for example in examples}


def _cell_scores(documents: list[list[str]], questions: list[str]) -> NDArray[np.float64]:
    """float64 ``[questions, cells]``; all 0 where no document holds a word."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

    texts = list(dict.fromkeys(text for own in documents for text in own))
    place = {text: number for number, text in enumerate(texts)}
    vectorizer = TfidfVectorizer(ngram_range=(1, 2))
    try:
        vectors = vectorizer.fit_transform(texts)
    except ValueError:  # scikit-learn: an empty vocabulary
        return np.zeros((len(questions), len(documents)))
    cosine = (vectorizer.transform(questions) @ vectors.T).toarray()
    best = [cosine[:, [place[text] for text in own]].max(axis=1, initial=0.0) for own in documents]
    return np.stack(best, axis=1)
