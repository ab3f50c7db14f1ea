"""Answer texts to cells and a number, against plain searches."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.tables.supervision import (
    NOT_ALL_FOUND,
    NOT_FOUND,
    SEVERAL_CELLS,
    SHARED_CELL,
    Supervision,
    SupervisionFinder,
)
from mate_cli.tables.table import Cell, Table

_CELLS = st.sampled_from(["ash", "Ash", "elm", "ash [2]", "7", "7.0", "a-b", "a - b", ""])


def _finder(rows: list[list[str]]) -> SupervisionFinder:
    body = tuple(tuple(Cell(text) for text in row) for row in rows)
    return SupervisionFinder(Table("t", (Cell(""),) * len(rows[0]), body))


@settings(max_examples=100)
@given(
    st.lists(st.lists(_CELLS, min_size=2, max_size=2), min_size=1, max_size=4),
    st.lists(_CELLS.filter(bool), min_size=1, max_size=3),
)
def test_equal_texts_are_found_where_they_stand(rows: list[list[str]], answers: list[str]) -> None:
    """By the first form, the text itself, a plain search says the cells where each answer stands once."""
    places = {answer: [(r, c) for r, row in enumerate(rows) for c in (0, 1) if row[c] == answer] for answer in answers}
    finder = _finder(rows)
    strict, loose = finder.find(answers, True), finder.find(answers, False)
    if len(places) == len(answers) and all(len(own) == 1 for own in places.values()):
        assert strict.cells == loose.cells == tuple(sorted(own[0] for own in places.values()))
    if len(places) == len(answers) and all(places.values()):
        assert loose.cells == tuple(sorted(own[-1] for own in places.values()))
    assert bool(strict.problem) == (not strict.cells and strict.value is None)
    if not strict.problem and strict.cells:
        assert strict == loose


@pytest.mark.parametrize(
    ("answers", "strict", "expected"),
    [
        (["Ash"], True, Supervision(((0, 0),))),
        (["ASH"], False, Supervision(((1, 0),))),  # in lower case it stands twice
        (["ASH"], True, Supervision(problem=SEVERAL_CELLS)),
        (["a-b"], True, Supervision(((2, 0),))),  # the same words and marks
        (["elm†"], True, Supervision(((2, 1),))),
        (["7"], True, Supervision(((0, 1),), 7.0)),
        (["8"], True, Supervision(value=8.0)),
        (["1,5"], True, Supervision(value=1.5)),
        (["nan"], True, Supervision(problem=NOT_FOUND)),
        (["oak"], False, Supervision(problem=NOT_FOUND)),
        (["7", "8"], False, Supervision(problem=NOT_ALL_FOUND)),
        (["elm", "ELM"], False, Supervision(problem=SHARED_CELL)),
        (["elm", "7"], True, Supervision(((0, 1), (2, 1)))),
    ],
)
def test_forms_numbers_and_reasons(answers: list[str], strict: bool, expected: Supervision) -> None:
    assert _finder([["Ash", "7"], ["ash", "x"], ["a - b", "elm"]]).find(answers, strict) == expected


def test_no_answer_is_no_question() -> None:
    with pytest.raises(ValueError, match="no answers"):
        _finder([["a"]]).find([], strict=False)
