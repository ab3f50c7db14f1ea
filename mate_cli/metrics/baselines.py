"""Baselines that need no training: cell rankings, rules for table questions, piece frequencies for masked pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from mate_cli.metrics.cell_selection import KS, rank_cells
from mate_cli.tables.amounts import plain_text
from mate_cli.tables.table import Cell, Coordinate, Example
from mate_cli.tables.text import split_sentences

Rankings = dict[str, list[Coordinate]]
"""Question id -> all body cells, best first."""

Rule = Callable[[Example, Collection[Coordinate]], set[Coordinate]]
"""(question, cells that answer the previous question of the conversation) -> cells."""

COMMON_ANSWERS = ("3", "2")
"""The most frequent answers of WikiTableQuestions' training split."""

_WORDS = re.compile(r"\w+")


def expected_random_hits(examples: Sequence[Example], ks: Sequence[int] = KS) -> dict[int, float]:
    """Return the expected Hits@k of a random order of the cells, over all questions with an answer field."""
    answered = [example for example in examples if example.answers is not None]
    return {k: float(np.mean([_random_hit(example, k) for example in answered] or [0.0])) for k in ks}


def tfidf_cell_ranking(examples: Sequence[Example]) -> Rankings:
    """Rank cells by the cosine between the question and the cell's text with all its linked passages.

    Terms are words and pairs of words, as in the release (docs/notes.md, note 9), fitted once per table.
    """

    def documents(example: Example) -> list[list[str]]:
        return [[" ".join([cell.text, *(example.passages[link] for link in cell.links)])] for cell in _cells(example)]

    return _rank_by_table(examples, documents)


def tfidf_sentence_ranking(examples: Sequence[Example]) -> Rankings:
    """Rank cells by the cosine between the question and the nearest sentence of the cell's linked passages.

    A cell without links scores 0. Terms and fit as in ``tfidf_cell_ranking``.
    """
    sentences = cache(split_sentences)  # passages recur across tables

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


def _rank_by_table(examples: Sequence[Example], documents: Callable[[Example], list[list[str]]]) -> Rankings:
    """Fit each table's documents once; a cell scores as its best document."""
    by_table: dict[int, list[Example]] = {}
    for example in examples:
        by_table.setdefault(id(example.table), []).append(example)
    rankings: Rankings = {}
    for questions in by_table.values():
        scores = _cell_scores(documents(questions[0]), [example.question for example in questions])
        for example, cells in zip(questions, scores, strict=True):
            rankings[example.id] = rank_cells(cells.reshape(_shape(example)))
    return {example.id: rankings[example.id] for example in examples}


def _cell_scores(documents: list[list[str]], questions: list[str]) -> NDArray[np.float64]:
    """float64 ``[questions, cells]``; all 0 if no document has a word."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import

    texts = list(dict.fromkeys(text for cell_texts in documents for text in cell_texts))
    place = {text: number for number, text in enumerate(texts)}
    vectorizer = TfidfVectorizer(ngram_range=(1, 2))
    try:
        vectors = vectorizer.fit_transform(texts)
    except ValueError:  # scikit-learn: an empty vocabulary
        return np.zeros((len(questions), len(documents)))
    cosine = (vectorizer.transform(questions) @ vectors.T).toarray()
    best = [cosine[:, [place[text] for text in cell_texts]].max(axis=1, initial=0.0) for cell_texts in documents]
    return np.stack(best, axis=1)


SEQUENCE_RULES: dict[str, Rule] = {
    "first cell": lambda example, previous: {(0, 0)} if example.table.rows else set(),
    "first column": lambda example, previous: _column(example, 0),
    "named column": lambda example, previous: _column(example, _named(example)),
    "named column, rows before": lambda example, previous: _column(example, _named(example), {r for r, _ in previous}),
    "named column, first row before": lambda example, previous: _column(
        example, _named(example), {row for row, _ in sorted(previous)[:1]}
    ),
}
"""Rules for conversations; the last two take the rows of the previous answer, or all rows if there is none."""


def answer_by_rule(examples: Sequence[Example], rule: Rule, gold_history: bool) -> dict[str, set[Coordinate]]:
    """Answer each question by a rule: example id -> cells.

    Args:
        gold_history: whether the previous answer is the gold one; otherwise it is the rule's own.
    """
    answers: dict[tuple[str, int], set[Coordinate]] = {}
    for example in sorted(examples, key=lambda example: example.position):
        predicted = answers.get((example.conversation, example.position - 1), set())
        previous = example.previous if gold_history else predicted
        answers[example.conversation, example.position] = rule(example, previous)
    return {example.id: answers[example.conversation, example.position] for example in examples}


def answers_without_reading(examples: Sequence[Example]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Answer by rules that ignore the question: rule -> question id -> answer texts."""
    rules: dict[str, Callable[[Example], tuple[str, ...]]] = {
        "empty answer": lambda example: (),
        "first cell": lambda example: tuple(plain_text(row[0]) for row in example.table.rows[:1]),
        "number of rows": lambda example: (str(example.table.num_rows),),
    }
    answers = {name: {example.id: rule(example) for example in examples} for name, rule in rules.items()}
    return answers | {f"always {text}": {example.id: (text,) for example in examples} for text in COMMON_ANSWERS}


def _column(example: Example, column: int, rows: Collection[int] = ()) -> set[Coordinate]:
    """Return the cells of a column in some rows, or in all if none are given."""
    return {(row, column) for row in rows or range(example.table.num_rows)}


def _named(example: Example) -> int:
    """Return the column whose header shares most words with the question, the first of ties."""
    words = set(_WORDS.findall(example.question.lower()))
    shared = [len(words & set(_WORDS.findall(cell.text.lower()))) for cell in example.table.header]
    return shared.index(max(shared)) if shared else 0


@dataclass(frozen=True)
class Unigram:
    """Piece frequencies, the baseline of masked language modelling.

    Attributes:
        counts: int64 ``[vocabulary]``, how often each piece was a target.
    """

    counts: np.ndarray

    @classmethod
    def of(cls, targets: Iterable[Sequence[int] | np.ndarray], vocabulary: int) -> Unigram:
        """Count the targets of examples."""
        counts = np.zeros(vocabulary, dtype=np.int64)
        for pieces in targets:
            np.add.at(counts, np.asarray(pieces, dtype=np.int64), 1)
        return cls(counts)

    @property
    def most_frequent(self) -> int:
        """The most frequent piece, the first of ties: the guess at every place."""
        return int(self.counts.argmax())

    def log_likelihood(self, targets: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of pieces, float64, with add-one smoothing."""
        likelihood: np.ndarray = np.log((self.counts[targets] + 1) / (self.counts.sum() + len(self.counts)))
        return likelihood


def perplexity(log_likelihood: np.ndarray) -> float:
    """Return exp of the mean negative log-likelihood."""
    return float(np.exp(-np.mean(log_likelihood)))
