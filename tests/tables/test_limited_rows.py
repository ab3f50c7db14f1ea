"""The rows within the limits that a question sets, and what a model lists or counts of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.table import Table
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

PARCELS = table(
    "parcel,city,boxes,weight (kg),price,age in days",
    *("P1,Oslo,3,12.5,20,4", "P2,Rome,10,40,35,9", "P3,Oslo,12,7,18,30", "P4,Bern,1,150,90,2"),
    *("P5,Rome,7,40.5,35.5,12", "total,,33,,198.5,"),
)


def rows_of(question: str, of: Table = PARCELS) -> tuple[int, ...]:
    asked = asked_rows(question, of)
    return asked.rows if asked.by_value else ()


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which parcels have more than 7 boxes?", (1, 2)),
        ("Which parcels have at least 7 boxes?", (1, 2, 4)),
        ("How many parcels have seven or more boxes?", (1, 2, 4)),
        ("How many parcels have 3 boxes or less?", ()),  # the number stands before its noun
        ("How many parcels have 3 or fewer boxes?", (0, 3)),
        ("Which parcels weigh over 40 kg?", (3, 4)),
        ("Which parcels have a weight of up to 40?", (0, 1, 2)),
        ("Which parcels cost less than 20?", (2,)),
        ("Which parcels cost between 20 and 35.5 euros?", (0, 1, 4)),
        ("Which parcels have a price between $20 and $35.50?", (0, 1, 4)),
        ("Which parcel is older than 12 days?", (2,)),
        ("Which parcels in Rome have more than 7 boxes?", (1,)),
        ("Which parcels have more than 7 boxes and cost less than 30?", (2,)),
        ("Which parcels have a weight above 1 thousand?", ()),
        ("Which parcels do not have more than 7 boxes?", ()),
        ("Does Rome get more than 7 boxes?", ()),
        ("Which parcels have more than 7 stamps?", ()),
        ("Which parcels have more than 7?", ()),
        ("Which parcels have more boxes than P2?", ()),
        ("Which parcels came after 2020?", ()),
        ("How many boxes were sent between 2001 and 2005?", ()),
    ],
)
def test_the_rows_within_a_limit(question: str, rows: tuple[int, ...]) -> None:
    assert rows_of(question) == rows


def test_a_table_without_rows_has_none_that_are_asked_for() -> None:
    assert asked_rows("Which parcels have more than 7 boxes?", table("parcel,boxes")).rows == ()


def test_numbers_with_commas_and_in_words() -> None:
    towns = table("town,people", "Elm,1200", "Oak,90000", "Fir,3000000")
    assert rows_of("Which towns have more than 1,200 people?", towns) == (1, 2)
    assert rows_of("Which towns have under 2 million people?", towns) == (0, 1)
    assert rows_of("Which towns have under 2 million people?", table("town,people (millions)", "Elm,1", "Oak,3")) == ()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9), st.integers(0, 30), st.integers(0, 30))
def test_limits_are_those_of_numbers(boxes: list[int], one: int, other: int) -> None:
    own = table("parcel,boxes", *(f"P{row}x,{number}" for row, number in enumerate(boxes)))
    tests = {
        f"more than {one}": lambda number: number > one,
        f"fewer than {one}": lambda number: number < one,
        f"at least {one}": lambda number: number >= one,
        f"no more than {one}": lambda number: number <= one,
        f"between {one} and {other}": lambda number: min(one, other) <= number <= max(one, other),
    }
    for limit, fits in tests.items():
        rows = tuple(row for row, number in enumerate(boxes) if fits(number))
        tells_apart = 0 < len(rows) < len(boxes)
        assert rows_of(f"Which parcels have {limit} boxes?", own) == (rows if tells_apart else ())


@pytest.mark.parametrize(
    ("question", "chosen", "operator", "rows"),
    [
        ("How many parcels have more than 7 boxes?", (0, 1, 2), "COUNT", [1, 2]),
        ("Which parcels have at least 7 boxes?", (1, 2), "NONE", [1, 2, 4]),
        ("Name a parcel with at least 7 boxes.", (1,), "NONE", [1]),
        ("How many parcels to Rome have at least 7 boxes?", (1, 2, 4), "COUNT", [1, 4]),
        ("Which is the lightest parcel with at least 7 boxes?", (4,), "NONE", [2]),
    ],
)
def test_lists_and_counts_are_of_these_rows(
    question: str, chosen: tuple[int, ...], operator: str, rows: list[int]
) -> None:
    prediction = TableAnswer("0", tuple((row, 0) for row in chosen), (0.9,) * len(chosen), operator, 0.9)
    assert [row for row, _ in as_asked(question, PARCELS, prediction).cells] == rows
