"""Hits@k and the ranking of cells against their definitions, spelt out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mate_cli.metrics.cell_selection import example_places, first_hits, hits, rank_cells, score
from mate_cli.tables.table import Cell, Coordinate, Example, Table

_CELLS = [(row, column) for row in range(3) for column in range(3)]
_TABLE = Table("t", (Cell("h"),) * 3, ((Cell("x"),) * 3,) * 3)


def _example(name: str, *candidates: Coordinate, subset: str = "", reasoning: str = "", blind: bool = False) -> Example:
    return Example(name, "?", _TABLE, None if blind else ("x",), {}, candidates, subset=subset, reasoning=reasoning)


@given(hnp.arrays(np.float64, (3, 4), elements=st.sampled_from([0.0, -1.0, 0.5, 2.0])))
def test_cells_rank_by_score_and_then_by_place(scores: np.ndarray) -> None:
    cells = [(row, column) for row in range(3) for column in range(4)]
    assert rank_cells(scores) == sorted(cells, key=lambda cell: (-scores[cell], cell))


@given(
    st.lists(
        st.tuples(st.permutations(_CELLS), st.sets(st.sampled_from(_CELLS), max_size=4)),
        min_size=1,
        max_size=8,
    )
)
def test_hits_against_the_definition(questions: list[tuple[list[Coordinate], set[Coordinate]]]) -> None:
    ranked, candidates = [r for r, _ in questions], [sorted(c) for _, c in questions]
    shares = hits(first_hits(ranked, candidates), ks=(1, 3, 5, 9))
    assert shares.pop("questions") == len(questions)
    for k, share in zip((1, 3, 5, 9), shares.values(), strict=True):
        right = [bool(set(r[:k]) & c) for r, c in questions]
        assert share == pytest.approx(sum(right) / len(right))


def test_every_answered_question_counts_and_blind_ones_do_not() -> None:
    examples = [
        _example("hit", (0, 0), subset="table", reasoning="lookup"),
        _example("third", (2, 2), subset="passage", reasoning="two_hop"),
        _example("missing", subset="missing", reasoning="missing"),
        _example("no ranking", (0, 0), subset="table", reasoning="lookup"),
        _example("blind", blind=True),
    ]
    ranked = {
        "hit": [(0, 0), (0, 1), (2, 2)],
        "third": [(0, 0), (0, 1), (2, 2)],
        "missing": _CELLS,
        "blind": [(0, 0)],
        "of another split": [(0, 0)],
    }
    scores = score(examples, ranked)
    assert scores["all"] == {"questions": 4, "hits@1": 0.25, "hits@3": 0.5, "hits@5": 0.5}
    assert {name: (h["questions"], h["hits@1"], h["hits@3"]) for name, h in scores["by_subset"].items()} == {
        "In-Table": (2, 0.5, 0.5),
        "In-Passage": (1, 0.0, 1.0),
        "Missing": (1, 0.0, 0.0),
    }
    assert {name: h["hits@3"] for name, h in scores["by_reasoning"].items()} == {
        "lookup": 0.5,
        "missing": 0.0,
        "two_hop": 1.0,
    }
    assert (example_places(examples[:4], ranked) < 3).tolist() == [True, True, False, False]


def test_nothing_to_score() -> None:
    nothing = {"questions": 0, "hits@1": 0.0, "hits@3": 0.0, "hits@5": 0.0}
    assert score([], {}) == {"all": nothing, "by_subset": {}, "by_reasoning": {}}
    assert score([_example("blind", blind=True)], {})["by_subset"] == {}
    with pytest.raises(ValueError, match="longer"):
        first_hits([[]], [[], []])
