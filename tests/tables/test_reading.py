"""Reading texts and the release's choices of cells to learn from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.reading import (
    NOISES,
    TrainingCells,
    question_id,
    reading_example,
    reading_examples,
    reading_text,
    training_examples,
)
from mate_cli.tables.table import Cell, Example, Table

LINKED = Cell("Ann", ("/a", "/b", "/a"))


def example(candidates: tuple[tuple[int, int], ...] = ((0, 1), (2, 0)), name: str = "q/1") -> Example:
    texts = [[Cell(f"{row},{column}") for column in range(3)] for row in range(4)]
    texts[0][1] = LINKED
    table = Table("t", tuple(Cell("h") for _ in range(3)), tuple(map(tuple, texts)))
    return Example(name, "who?", table, ("Ann",), {"/a": "A.", "/b": "B."}, candidates, ((2, 0),), "table", "lookup")


@pytest.mark.parametrize(
    ("input", "linked", "plain"),
    [("both", "Ann : A. : B.", "2,0"), ("table", "Ann", "2,0"), ("passages", "A. : B.", "")],
)
def test_the_text_of_a_cell(input: str, linked: str, plain: str) -> None:
    assert reading_text(example(), (0, 1), input) == linked  # type: ignore[arg-type]
    assert reading_text(example(), (2, 0), input) == plain  # type: ignore[arg-type]


def test_a_reading_example_is_a_table_of_one_cell() -> None:
    one = reading_example(example(), (0, 1))
    assert (one.id, question_id(one.id)) == ("q/1/0-1", "q/1")
    assert one.table == Table("t", (Cell(""),), ((Cell("Ann : A. : B."),),))
    assert (one.question, one.answers, one.subset, one.reasoning) == ("who?", ("Ann",), "table", "lookup")
    assert not one.passages
    assert one.candidates == ((0, 0),)
    assert reading_example(example(), (3, 2)).candidates == ()
    assert [own.id for own in reading_examples(example())] == ["q/1/0-1", "q/1/2-0"]


def ids(own: Example, **cells: object) -> set[str]:
    return {made.id for made in training_examples(own, TrainingCells(**cells))}  # type: ignore[arg-type]


def test_which_cells_teach() -> None:
    assert ids(example()) == {"q/1/0-1", "q/1/2-0"}
    assert ids(example(), traced=True) == {"q/1/2-0"}
    assert ids(example(), skip_ambiguous=True) == set()
    assert ids(example(((0, 1),)), skip_ambiguous=True) == {"q/1/0-1"}
    assert ids(example(())) == set()
    assert ids(example(), together=True) == {"q/1/all"}


@given(
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=5),
    st.sampled_from(NOISES),
    st.text(max_size=5),
)
def test_noise_is_as_many_cells_of_the_space_and_none_of_them_right(
    right: set[tuple[int, int]], noise: str, name: str
) -> None:
    own = example(tuple(sorted(right)), name)
    (made,) = training_examples(own, TrainingCells(together=True, noise=noise))  # type: ignore[arg-type]
    texts = [cell.text for cell in made.table.rows[0]]
    by_text = {reading_text(own, (r, c)): (r, c) for r in range(4) for c in range(3)}
    cells = [by_text[text] for text in texts]
    assert {cells[column] for _, column in made.candidates} == right
    others = [cell for cell in cells if cell not in right]
    rows, columns = {row for row, _ in right}, {column for _, column in right}
    allowed = {
        (r, c)
        for r in range(4)
        for c in range(3)
        if (r, c) not in right
        and {"none": False, "full": True, "column": c in columns, "selective": r in rows or c in columns}[noise]
    }
    assert set(others) <= allowed
    assert len(others) == (len(right) if allowed else 0)
    if len(allowed) >= len(right):
        assert len(set(others)) == len(others)
    assert made == training_examples(own, TrainingCells(together=True, noise=noise))[0]  # type: ignore[arg-type]
