"""The rows that a question tells apart by columns of yes and no."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.answer_form import with_all_names
from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.named_rows import named_rows
from tests.tables.test_queries import table_of

ROOMS = table_of(
    "room|house|seats|Projector|Meals included|video|nation",
    "Alder|East|12|yes|TRUE||yes",
    "Birch|East|20|no|FALSE|x|no",
    "Cedar|West|16|yes|FALSE|x|no",
    "Dogwood|West|40|no|TRUE||maybe",
    "Elder|West|40|no|FALSE||no",
)


@pytest.mark.parametrize(
    ("question", "rows", "suffice"),
    [
        ("Which is the cheapest room with a projector?", (0, 2), True),
        ("Which rooms have projectors?", (0, 2), True),
        ("How many rooms have no projector?", (1, 3, 4), True),
        ("Which rooms don't have a projector?", (1, 3, 4), True),
        ("Which rooms are there without any projector?", (1, 3, 4), True),
        ("Which room includes meals, but has no projector?", (3,), True),
        ("Which rooms include no meals?", (1, 2, 4), True),
        ("Which rooms come with meals?", (), False),  # "included" is not said
        ("Which rooms have video?", (1, 2), True),
        ("Which rooms in West have no video?", (3, 4), True),
        ("Which rooms of West with a projector are the largest?", (2,), True),
        ("Does Alder have a projector?", (0,), True),  # nothing but the name tells rows apart
        ("Is there a room with a projector?", (), False),
        ("Which rooms with a projector have more than 10 seats?", (0, 2), True),
        ("Which rooms with a projector have more than 12 seats?", (2,), True),
        ("Which rooms are larger than the largest with a projector?", (0, 2), False),
        ("Which rooms have a projector, video and meals included?", (), False),  # no row has them all
        ("Which room is of the nation?", (), False),  # "maybe" is neither yes nor no
    ],
)
def test_rows_that_columns_of_yes_and_no_tell_apart(question: str, rows: tuple[int, ...], suffice: bool) -> None:
    assert asked_rows(question, ROOMS)[:2] == (rows, suffice)


def test_answers_and_counts_are_of_these_rows_alone() -> None:
    every = [(row, 0) for row in range(5)]
    assert with_all_names("How many rooms have a projector?", ROOMS, every, "COUNT") == [0, 2]
    assert with_all_names("How many rooms of West have no video?", ROOMS, every, "COUNT") == [3, 4]
    assert with_all_names("Which rooms with a projector have more than 10 seats?", ROOMS, every, "NONE") == [0, 2]
    assert with_all_names("How many rooms does the house have?", ROOMS, every, "COUNT") == [0, 1, 2, 3, 4]


@given(
    st.lists(st.sampled_from(["yes", "no", "", "x", "12", "East"]), min_size=1, max_size=6),
    st.text(alphabet="eno protjec?", max_size=20),
)
def test_other_columns_and_questions_change_nothing(cells: list[str], question: str) -> None:
    rooms = table_of("room|projector", *(f"{number}|{cell}" for number, cell in enumerate(cells)))
    found, named = asked_rows(question, rooms), named_rows(question, rooms)
    assert found == named or (found.flagged and {*cells} == {"yes", "no"}) or (found.flagged and {*cells} == {"x", ""})
    assert {*found.rows} <= {*range(len(cells))}
