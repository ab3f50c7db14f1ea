"""What a question with "how many" counts: each of equal ones once, or the amount of what it names."""

from __future__ import annotations

import pytest

from mate_cli.kinds.registry import kind_named
from mate_cli.tables.answer_form import amounts_of_named, each_once
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import CLUBS, cells, record, table


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("How many different towns have a club?", [0, 1, 4]),
        ("what is the number of distinct towns", [0, 1, 4]),
        ("How many of the unique towns are listed?", [0, 1, 4]),
        ("How many places have a club?", [0, 1, 2, 3, 4]),
        ("How many clubs play in different towns?", [0, 1, 2, 3, 4]),
    ],
)
def test_different_ones_are_counted_once(question: str, kept: list[int]) -> None:
    assert each_once(question, CLUBS, cells("town", 0, 1, 2, 3, 4)) == kept
    assert record(question, "town", "COUNT", 0, 1, 2, 3, 4)["answer"] == [str(len(kept))]


@pytest.mark.parametrize(
    ("question", "rows", "kept"),
    [
        ("How many towns are there?", (0, 1, 2, 3, 4), [0, 1, 4]),
        ("what is the total number of towns listed?", (0, 1, 2, 3, 4), [0, 1, 4]),
        ("How many towns are there?", (0, 1, 2, 3), [0, 1, 2, 3]),  # some were not chosen, for a reason
        ("How many places are there?", (0, 1, 2, 3, 4), [0, 1, 2, 3, 4]),
    ],
)
def test_kinds_in_a_whole_column_are_counted_once(question: str, rows: tuple[int, ...], kept: list[int]) -> None:
    assert each_once(question, CLUBS, cells("town", *rows)) == kept


def test_names_that_hardly_repeat_are_things_and_no_kinds() -> None:
    people = table("name,city", "Ann,Ulm", "Bob,Ulm", "Ann,Bonn", "Cy,Ulm")
    everyone, cities = ([(row, column) for row in range(4)] for column in (0, 1))
    assert each_once("How many names are there?", people, everyone) == [0, 1, 2, 3]
    assert each_once("How many cities are there?", people, cities) == [0, 2]
    empty = table("name,city", "Ann,Ulm", "Bob,", "Cy,Ulm", "Dee,Ulm")
    assert each_once("How many cities are there?", empty, [(0, 1), (2, 1), (3, 1)]) == [0]


STOCK = table(
    "product,maker,in stock,units sold,price",
    "hammer,Acme,120,7,15",
    "steel nut,Acme,900,31,2",
    "steel nut,Bolt,400,12,3",
)


@pytest.mark.parametrize(
    ("question", "rows", "amounts"),
    [
        ("How many hammers are in stock?", [0], [(0, 2)]),
        ("How many hammers are there?", [0], [(0, 2)]),
        ("How many hammers were sold?", [0], [(0, 3)]),
        ("What is the number of steel nuts in stock?", [1, 2], [(1, 2), (2, 2)]),
        ("How many steel nuts do we have?", [2], [(2, 2)]),
        ("How many hammers have a price below 20?", [0], []),
        ("How many hammers were more expensive?", [0], []),
        ("How many products does Acme have?", [0, 1], []),
        ("How many makers of hammers are there?", [0], []),
        ("How many hammers are in stock?", [0, 1], []),  # the model counts something else
        ("How many hammers are in stock?", [], []),
    ],
)
def test_how_many_of_what_a_row_is_about_asks_for_its_amount(
    question: str, rows: list[int], amounts: list[tuple[int, int]]
) -> None:
    counted = [(row, 0) for row in rows]
    assert amounts_of_named(question, STOCK, counted, "COUNT") == amounts
    assert amounts_of_named(question, STOCK, counted, "NONE") == []


def test_rows_without_a_column_of_amounts_are_counted() -> None:
    pupils = table("name,school,year", "Ann,Elm,2001", "Bob,Elm,2003")
    assert amounts_of_named("How many Elm are there?", pupils, [(0, 1), (1, 1)], "COUNT") == []


def test_the_amount_of_several_rows_is_their_sum() -> None:
    answering = kind_named("table_qa").answering
    assert answering is not None
    counted = TableAnswer("q", ((1, 0), (2, 0)), (0.9, 0.8), "COUNT")
    summed = answering.record("How many steel nuts are in stock?", STOCK, counted, 2)
    assert (summed["answer"], summed["formula"]) == (["1300"], "SUM(in stock of rows 1, 2) = 1300")
    one = answering.record("How many steel nuts are in stock?", STOCK, TableAnswer("q", ((1, 0),), (0.9,), "COUNT"), 1)
    assert (one["answer"], one["operator"]) == (["900"], "NONE")


def test_a_list_that_is_counted_has_different_ones_once() -> None:
    assert record("How many different towns have a club?", "town", "NONE", 0, 1, 2)["answer"] == ["2"]
