"""The row at a place of an order that a question asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.ranked_rows import compared_cell, ranked_row
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

TOWERS = table(
    "tower,city,height,opened,visitors,lifts",
    *("Kite,Oslo,90,1970,400,3", "Reed,Rome,120,1990,200,4", "Sail,Oslo,60,2011,900,5", "Tusk,Rome,75,1955,100,6"),
    *("Urn,Oslo,45,2003,300,7", "total,,390,,1900,"),
)


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("Which is the second tallest tower?", 0),
        ("Which tower is the 3rd tallest?", 3),
        ("Which is the second tallest tower in Oslo?", 2),
        ("What is the second shortest tower?", 2),
        ("Which tower has the third most visitors?", 4),
        ("Which tower has the second fewest visitors?", 1),
        ("What is the second-highest number of visitors?", 0),
        ("Which tower is the next tallest after Kite?", 3),
        ("After Reed, which tower has the next highest visitors?", 3),
        ("Which is the second newest tower?", 4),
        ("Which tower is the second oldest?", 0),
        ("Which is the sixth tallest tower?", None),  # there are five
        ("Which tower is the next tallest after Urn?", None),
        ("Which is the next tallest tower?", None),
        ("Which is the tallest tower?", None),
        ("Which tower is on the second harvest?", None),
        ("Which is the second best tower?", None),  # by what?
        ("Which tower has the second most stairs?", None),
    ],
)
def test_the_row_at_a_place(question: str, row: int | None) -> None:
    assert ranked_row(question, TOWERS) == row


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("Which is taller, Kite or Reed?", (1, 0)),
        ("Is Urn or Sail shorter?", (4, 0)),
        ("Which tower has more visitors, Tusk or Urn?", (4, 0)),
        ("Did Kite or Reed have fewer visitors?", (1, 0)),
        ("Was Kite or Reed opened earlier?", (0, 0)),
        ("Which costs more, Kite or Reed?", None),  # no column of prices
        ("Which is taller, Oslo or Rome?", None),  # several rows each
        ("Which is taller, Kite or another?", None),
        ("Which is nicer, Kite or Reed?", None),
        ("How many more visitors has Kite or Reed?", None),
        ("Which is taller, Kite and Reed?", None),
        ("Has Kite more or fewer visitors than Reed?", None),
    ],
)
def test_the_one_of_two_names(question: str, cell: tuple[int, int] | None) -> None:
    assert compared_cell(question, TOWERS) == cell


def test_more_costs_more() -> None:
    rooms = table("room,day rate", "Elm,80", "Oak,65", "Fir,80")
    assert compared_cell("Which costs more, Elm or Oak?", rooms) == (0, 0)
    assert compared_cell("Which costs less, Elm or Oak?", rooms) == (1, 0)
    assert compared_cell("Is Elm or Oak less expensive?", rooms) == (1, 0)
    assert compared_cell("Is Elm or Oak more expensive?", rooms) == (0, 0)
    assert compared_cell("Which costs more, Elm or Fir?", rooms) is None
    both = TableAnswer("0", ((0, 0), (1, 0)), (0.9, 0.6), "NONE", 0.9)
    assert as_asked("Which costs more, Elm or Oak?", rooms, both).cells == ((0, 0),)


def test_the_best_time_may_be_the_lowest() -> None:
    times = table("runner,time", "Ann,31", "Bob,28", "Cleo,40")
    assert ranked_row("Who has the second best time?", times) is None
    assert ranked_row("Who is the second fastest runner?", times) == 0


@given(st.lists(st.integers(1, 20), min_size=2, max_size=8))
def test_the_second_is_alone_after_the_first(heights: list[int]) -> None:
    towers = table("tower,height", *(f"T{row}x,{height}" for row, height in enumerate(heights)))
    first, second, *third = [*sorted(heights, reverse=True), 0]
    expected = heights.index(second) if first > second > third[0] else None
    assert ranked_row("Which is the second tallest tower?", towers) == expected


def test_the_answer_is_in_the_chosen_column() -> None:
    question = "Which is the second tallest tower?"
    chosen = TableAnswer("0", ((1, 0), (0, 0)), (0.9, 0.6), "COUNT", 0.9)
    answer = as_asked(question, TOWERS, chosen)
    assert (answer.cells, answer.probabilities, answer.aggregation) == (((0, 0),), (0.9,), "NONE")
    of_both = TableAnswer("0", ((1, 0), (1, 1)), (0.9, 0.6), "NONE", 0.9)
    assert as_asked(question, TOWERS, of_both).cells[0] == (1, 0)
