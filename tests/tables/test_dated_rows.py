"""The rows of the time that a question says, and what a model lists or counts of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.answer_form import with_all_names
from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.dated_rows import dated_rows
from mate_cli.tables.number_words import MONTHS
from mate_cli.tables.table import Table
from mate_cli.tables.whole_lists import whole_list
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

BILLS = table(
    "bill,client,date,due,amount",
    *("A1,Oak,2024-12-28,2025-01-27,90", "A2,Elm,2025-01-15,2025-02-14,40", "A3,Oak,2025-03-03,2025-04-02,70"),
    *("A4,Fir,2025-03-20,2025-04-19,30", "A5,Elm,2025-05-06,2025-06-05,60"),
)
STAFF = table("name,role,hired", "Ann,cook,2012", "Bob,waiter,2015", "Cleo,cook,2018", "Dan,waiter,2021")


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which bills were written in March?", (2, 3)),
        ("Which bills were written in March 2025?", (2, 3)),
        ("Which bills were written in 2024?", (0,)),
        ("Which bills are due in April?", (2, 3)),
        ("Which bills were written after March 2025?", (4,)),
        ("Which bills were written before 2025?", (0,)),
        ("Which bills were written since March 2025?", (2, 3, 4)),
        ("Which bills were written between January and March?", (1, 2, 3)),
        ("Which bills were written from 2024 to 2025?", (0, 1, 2, 3, 4)),
        ("Which bills were written after 2025-03-03?", (3, 4)),
        ("Which bills were written later than March 2025?", (4,)),
        ("Which bills were written no later than March 2025?", ()),
        ("Which bills were written after March?", ()),  # of which year
        ("Which bills were written in July?", ()),  # there is none
        ("Which bills were written in March or May?", ()),
        ("Which bills were written in 2024-25?", ()),
        ("Which bills were written in the first quarter of 2025?", (1, 2, 3)),
        ("Which bills were written in Q2?", (4,)),
        ("Which bills are due in the first half of 2025?", (0, 1, 2, 3, 4)),
        ("Which bills were written in the second half of the year?", (0,)),
        ("Which bills were written in the first half?", ()),  # of a match, perhaps
        ("Which bills were written in spring?", ()),
        ("How many bills of Oak were written in March?", (2,)),
        ("Which bills may be late?", ()),
        ("March?", ()),
    ],
)
def test_the_rows_of_a_time(question: str, rows: tuple[int, ...]) -> None:
    asked = asked_rows(question, BILLS)
    assert (asked.rows if asked.by_value else ()) == rows


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("Who was hired in 2015?", STAFF),  # a name
        ("Who came in March?", table("name,month", "Ann,March", "Bob,April")),
        ("Who came in 2024?", table("name,from,to", "Ann,2024-01-02,2024-02-03", "Bob,2023-01-02,2024-02-03")),
        ("Who came in 2024?", table("name,age", "Ann,31", "Bob,28")),
        ("Who scored in q1?", table("name,date,quarter", "Ann,2024-01-02,2", "Bob,2024-10-02,1")),
        ("Who came in March 2024?", table("name,year", "Ann,2023", "Bob,2025")),  # without months
    ],
)
def test_names_and_unclear_columns_tell_no_time(question: str, columns: Table) -> None:
    assert dated_rows(question.rstrip("?").lower().split(), columns) == []


@given(st.lists(st.integers(1, 12), min_size=2, max_size=9), st.integers(1, 12), st.integers(1, 12))
def test_months_are_compared_as_numbers(months: list[int], first: int, second: int) -> None:
    own = table("bill,date", *(f"A{row},2025-{month:02}-10" for row, month in enumerate(months)))
    low, high = sorted([first, second])
    expected = [row for row, month in enumerate(months) if low <= month <= high]
    signs = dated_rows(["paid", "between", MONTHS[low - 1], "and", MONTHS[high - 1]], own)
    assert [sorted(sign.rows) for sign in signs] == ([expected] if expected else [])


@pytest.mark.parametrize("odd", ["½", "¹", "ß", "½ ½ ½", "_", "µ²"])
def test_words_in_odd_letters_shift_no_place(odd: str) -> None:
    for question in (f"{odd} bills were written in March", f"bills written in March {odd}"):
        asked = asked_rows(question, BILLS)
        assert (asked.rows, asked.by_value) == ((2, 3), True)
        assert not asked.others & {"in", "march"}


def test_counts_are_of_these_rows_alone() -> None:
    every = [(row, 0) for row in range(5)]
    assert with_all_names("How many bills were written in March?", BILLS, every, "COUNT") == [2, 3]


@pytest.mark.parametrize(
    ("question", "chosen", "rows"),
    [
        ("Who was hired after 2014?", (1,), (1, 2, 3)),
        ("Which employees were hired after 2014?", (2,), (1, 2, 3)),
        ("Which employee was hired after 2014?", (2,), (2,)),  # in the singular
        ("Which name was added after 2014?", (2,), (2,)),
        ("Which cooks were hired after 2014?", (2,), (2,)),  # a condition
        ("Who was hired first after 2014?", (1,), (1,)),
        ("Which 2 employees were hired after 2014?", (2, 3), (2, 3)),
        ("Who was hired after 2014?", (0, 1), (0, 1)),  # the first is not of that time
        ("Who works here?", (1,), (1,)),
    ],
)
def test_lists_are_whole_where_a_time_alone_tells_rows_apart(
    question: str, chosen: tuple[int, ...], rows: tuple[int, ...]
) -> None:
    assert whole_list(question, STAFF, [(row, 0) for row in chosen], "NONE") == [(row, 0) for row in rows]


def test_a_list_of_several_columns_stays() -> None:
    assert whole_list("Who was hired after 2014?", STAFF, [(1, 0), (2, 1)], "NONE") == [(1, 0), (2, 1)]
    assert whole_list("Who was hired after 2014?", STAFF, [], "NONE") == []


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many different clients are there?", "3"),
        ("How many distinct clients do we have?", "3"),
        ("How many different clients paid?", "1"),
        ("How many different towns are there?", "1"),
    ],
)
def test_different_things_are_counted_in_the_whole_column(question: str, count: str) -> None:
    given = as_asked(question, BILLS, TableAnswer("q", ((1, 1),), (0.5,), "COUNT", 0.9))
    assert (str(len(given.cells)), given.aggregation) == (count, "COUNT")


def test_the_answer_has_the_whole_list() -> None:
    given = as_asked("Who was hired after 2014?", STAFF, TableAnswer("q", ((1, 0), (3, 0)), (0.9, 0.6), "NONE", 0.8))
    assert (given.cells, given.probabilities) == (((1, 0), (2, 0), (3, 0)), (0.6, 0.6, 0.6))


def test_the_total_of_things_is_a_sum_of_their_amounts() -> None:
    gifts = table("donor,city,amount", "Ann,Bonn,$250.00", "Bob,Graz,$900.50", "Cleo,Bonn,$40.00")
    counted = TableAnswer("q", ((0, 0), (2, 0)), (0.9, 0.6), "COUNT", 0.8)
    given = as_asked("What is the total of the gifts from Bonn?", gifts, counted)
    assert (given.cells, given.aggregation) == (((0, 2), (2, 2)), "SUM")
    assert as_asked("What is the total number of gifts from Bonn?", gifts, counted).aggregation == "COUNT"
