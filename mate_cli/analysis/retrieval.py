"""How often the table that a question was asked about is found among all tables of a data set.

What ``mate predict tables=DIR`` does is measured beside its parts: words (BM25) and meaning (a sentence encoder) alone.
A table that would answer the question as well counts as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mate_cli.encoding.source import SplitSource
from mate_cli.inference.table_search import TableSearch
from mate_cli.metrics.statistics import Interval, mean_interval, paired_bootstrap
from mate_cli.models.sentence_encoder import SentenceEncoder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import TableIndex

DEPTHS = (1, 5)
WORDS, MEANING, BOTH = "words", "meaning", "words, then meaning"


@dataclass(frozen=True)
class Recall:
    """How a way of searching does; ``questions`` about one table are drawn together.

    Attributes:
        found: for each of ``DEPTHS`` the share of questions whose table is among that many best.
        more: the same as a difference from words alone; empty for these.
    """

    way: str
    found: dict[int, Interval]
    more: dict[int, Interval]


@dataclass(frozen=True)
class Retrieval:
    """
    Attributes:
        questions, asked: questions of the split, and how many tables they are about; tables: among which they search.
    """

    questions: int
    asked: int
    tables: int
    recalls: list[Recall]


def measure_retrieval(splits: Sequence[SplitSource], split: str) -> Retrieval:
    """Search for the tables of a split's questions among those of all splits.

    Raises:
        UserError: there is no such split, or it has no question.
    """
    tables: dict[str, Table] = {}
    asked: list[tuple[str, str]] = []
    for source in splits:
        examples = source.read().examples
        tables.update((example.table.id, example.table) for example in examples)
        if source.split == split:
            asked = [(example.question, example.table.id) for example in examples]
    if not asked:
        raise UserError(f"split={split}: there are no questions in it; name another split")
    places = {name: number for number, name in enumerate(tables)}
    gold = np.array([places[name] for _, name in asked])
    ranks = _ranks(TableIndex(tables.values()), [question for question, _ in asked], gold)
    return Retrieval(len(asked), len(set(gold)), len(tables), [_recall(way, ranks, gold) for way in ranks])


def _ranks(index: TableIndex, questions: Sequence[str], gold: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return for each way how many tables come before that of each question, int64 ``[questions]``."""
    encoder = SentenceEncoder()
    search = TableSearch(index, encoder)
    ranked = [list(tables) for tables in search.rank(questions)]
    both = [order.index(own) if own in order else len(index.openings) for order, own in zip(ranked, gold, strict=True)]
    cosines = encoder.vectors(questions) @ search.vectors(range(len(index.openings))).T
    return {
        WORDS: before(index.scores(questions), gold),
        MEANING: before(cosines, gold),
        BOTH: np.array(both),
    }


def before(scores: NDArray[np.float32], gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many tables have a better score than that of each question, or an equal one and come first.

    Args:
        scores: ``[questions, tables]``; gold: the table of each question, ``[questions]``.

    Returns:
        int64 ``[questions]``.
    """
    own = np.take_along_axis(scores, gold[:, None], axis=1)
    first = np.arange(scores.shape[1]) < gold[:, None]
    return np.asarray(((scores > own) | ((scores == own) & first)).sum(axis=1))


def _recall(way: str, ranks: dict[str, NDArray[np.int64]], gold: NDArray[np.int64]) -> Recall:
    _, groups = np.unique(gold, return_inverse=True)
    found = {depth: mean_interval(ranks[way] < depth, groups) for depth in DEPTHS}
    more = {depth: paired_bootstrap(ranks[way] < depth, ranks[WORDS] < depth, groups) for depth in DEPTHS}
    return Recall(way, found, {} if way == WORDS else more)
