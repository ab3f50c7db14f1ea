"""The baselines against numbers worked out otherwise."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from mate_cli.metrics import baselines
from mate_cli.metrics.baselines import (
    expected_random_hits,
    tfidf_cell_ranking,
    tfidf_sentence_ranking,
)
from mate_cli.metrics.cell_selection import rank_cells, score
from mate_cli.tables.table import Cell, Coordinate, Example, Table

_PASSAGES = {
    "rome": "Rome lies on the Tiber . It was founded by Romulus .",
    "oslo": "Oslo lies on a fjord . The opera of Oslo is white . The fjord is deep .",
    "ida": "Ida climbed a white mountain .",
}
_TABLE = Table(
    "t",
    (Cell("City"), Cell("Visitor"), Cell("Year")),
    (
        (Cell("Rome", ("rome",)), Cell("Paul"), Cell("1901")),
        (Cell("Oslo", ("oslo",)), Cell("Ida", ("ida",)), Cell("1902")),
    ),
)
_EXAMPLE = Example("q", "Who climbed a white mountain ?", _TABLE, ("Ida",), _PASSAGES, ((1, 1),))


def _ask(*questions: str) -> list[Example]:
    return [replace(_EXAMPLE, id=str(n), question=question) for n, question in enumerate(questions)]


@pytest.mark.parametrize("candidates", [(), ((0, 1),), ((0, 0), (1, 2)), ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1))])
def test_expected_random_hits_over_all_orders(candidates: tuple[Coordinate, ...]) -> None:
    example = replace(_EXAMPLE, candidates=candidates)
    cells = [(row, column) for row in range(2) for column in range(3)]
    for k, share in expected_random_hits([example], ks=(1, 3, 6, 9)).items():
        first = list(combinations(cells, min(k, 6)))
        assert share == pytest.approx(sum(bool(set(c) & set(candidates)) for c in first) / len(first))


def test_random_rankings_come_near_to_what_is_expected() -> None:
    examples = [replace(_EXAMPLE, id=str(n)) for n in range(3000)]
    generator = np.random.default_rng(1)
    rankings = {example.id: rank_cells(generator.random((2, 3))) for example in examples}
    expected = {f"hits@{k}": share for k, share in expected_random_hits(examples).items()}
    assert score(examples, rankings)["all"] == pytest.approx({"questions": 3000, **expected}, abs=0.03)
    blind = replace(_EXAMPLE, answers=None)
    assert expected_random_hits([blind]) == {1: 0.0, 3: 0.0, 5: 0.0}


def test_cells_and_sentences_win_by_their_own_text() -> None:
    examples = _ask("Who climbed a white mountain ?", "When was Rome founded ?", "the deep fjord")
    by_cell = tfidf_cell_ranking(examples)
    assert [by_cell[e.id][0] for e in examples] == [(1, 1), (0, 0), (1, 0)]
    by_sentence = tfidf_sentence_ranking(examples)
    assert [by_sentence[e.id][0] for e in examples] == [(1, 1), (0, 0), (1, 0)]
    assert all(sorted(cells) == sorted(by_cell["0"]) and len(cells) == 6 for cells in by_cell.values())


def test_a_sentence_counts_alone_and_plain_cells_never_do() -> None:
    example = _ask("1902 opera")[0]  # a sentence about Oslo, and a cell without a passage
    assert tfidf_sentence_ranking([example])["0"][0] == (1, 0)
    assert tfidf_cell_ranking([example])["0"][0] == (1, 2)


def test_scores_follow_the_formula_of_smoothed_tfidf() -> None:
    question = "white mountain on the fjord"
    documents = [
        " ".join([cell.text, *(_PASSAGES[link] for link in cell.links)]) for row in _TABLE.rows for cell in row
    ]
    order = np.argsort([-_cosine(question, own, documents) for own in documents], kind="stable")
    expected = [divmod(int(number), 3) for number in order]
    assert tfidf_cell_ranking(_ask(question))["0"] == expected


def _cosine(question: str, document: str, documents: list[str]) -> float:
    frequency = Counter(term for other in documents for term in set(_terms(other)))
    weight = {term: math.log((1 + len(documents)) / (1 + n)) + 1 for term, n in frequency.items()}
    a, b = ({t: n * weight[t] for t, n in Counter(_terms(x)).items() if t in weight} for x in (question, document))
    norm = math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    return sum(value * b.get(term, 0.0) for term, value in a.items()) / norm if norm else 0.0


def _terms(text: str) -> list[str]:
    words = [word for word in text.lower().split() if len(word) > 1]
    return words + [" ".join(pair) for pair in pairwise(words)]


def test_tables_without_words_or_passages_rank_in_order() -> None:
    bare = Table("b", (Cell("h"), Cell("h")), ((Cell(""), Cell("-")),))
    example = Example("b", "which ?", bare, ("x",))
    assert tfidf_cell_ranking([example]) == {"b": [(0, 0), (0, 1)]}
    assert tfidf_sentence_ranking([example]) == {"b": [(0, 0), (0, 1)]}


def test_each_passage_is_split_once_and_order_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def split(text: str) -> list[str]:
        seen.append(text)
        return [text]

    monkeypatch.setattr(baselines, "split_sentences", split)

    other = replace(_EXAMPLE, id="other", table=replace(_TABLE, id="u"))
    examples = [*_ask("a", "b"), other]
    assert list(tfidf_sentence_ranking(examples)) == ["0", "1", "other"]
    assert sorted(seen) == sorted(_PASSAGES.values())
