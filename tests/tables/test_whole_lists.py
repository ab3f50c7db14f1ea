"""Counts and sums of many rows: of those that a question names none is missed."""

from __future__ import annotations

import pytest

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.table import Table
from mate_cli.tables.whole_lists import whole_list
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

TOWNS = ("Oslo", "Rome")


def parcels(rows: int) -> Table:
    """Every other parcel goes to Oslo; the price of each tenth is empty."""
    prices = ("" if row % 10 == 0 else str(row) for row in range(rows))
    kinds = ("new", "old", "old")
    lines = (f"P{row}x,{TOWNS[row % 2]},{price},{kinds[row % 3]} crate" for row, price in enumerate(prices))
    return table("parcel,town,price,kind", *lines)


@pytest.mark.parametrize(
    ("question", "operator", "column", "missed", "whole"),
    [
        ("How many parcels go to Oslo?", "COUNT", 0, 5, True),
        ("What is the total price of the parcels to Oslo?", "SUM", 2, 5, True),
        ("What is the average price of the parcels to Oslo?", "AVERAGE", 2, 5, True),
        ("How many parcels go to Oslo?", "COUNT", 0, 15, False),  # it may know another condition
        ("What is the difference of the prices of the parcels to Oslo?", "DIFFERENCE", 2, 5, False),
        ("How many old parcels go to Oslo?", "COUNT", 0, 5, False),  # the word is a part of cells
        ("Which parcels go to Oslo?", "NONE", 0, 5, False),
        ("How many of the first 20 parcels go to Oslo?", "COUNT", 0, 5, False),
        ("How many parcels do not go to Oslo?", "COUNT", 0, 5, False),
    ],
)
def test_most_of_many_named_rows_are_all(question: str, operator: str, column: int, missed: int, whole: bool) -> None:
    of = parcels(100)
    every = [(row, column) for row in range(0, 100, 2)]
    assert whole_list(question, of, every[missed:], operator) == (every if whole else every[missed:])


def test_few_named_rows_stay() -> None:
    chosen = [(row, 0) for row in range(0, 36, 2)]
    assert whole_list("How many parcels go to Oslo?", parcels(40), chosen, "COUNT") == chosen


@pytest.mark.parametrize(("chosen", "whole"), [(2, False), (3, True), (7, True)])
def test_rows_within_a_limit_are_all_if_more_than_a_third_are_chosen(chosen: int, whole: bool) -> None:
    rows = [row for row in range(40) if row > 20 and row % 2 == 0 and row % 10]
    cells = [(row, 0) for row in rows]
    question = "How many parcels to Oslo have a price of more than 21?"
    assert whole_list(question, parcels(40), cells[:chosen], "COUNT") == (cells if whole else cells[:chosen])
    assert len(rows) == 8


def test_initials_are_no_parts_of_cells() -> None:
    people = table("name,pay", *(f"Ann {letter}. Lee,{7 * number}" for number, letter in enumerate("ABCDEFGH")))
    chosen = [(row, 0) for row in range(4, 7)]
    assert whole_list("How many people have a pay of more than 21?", people, chosen, "COUNT") == [*chosen, (7, 0)]


def test_the_sum_is_that_of_all_rows() -> None:
    chosen = tuple((row, 2) for row in range(12, 100, 2))
    prediction = TableAnswer("0", chosen, (0.9,) * len(chosen), "SUM", 0.9)
    answer = as_asked("What is the total price of the parcels to Oslo?", parcels(100), prediction)
    assert (answer.cells, answer.aggregation) == (tuple((row, 2) for row in range(0, 100, 2)), "SUM")
