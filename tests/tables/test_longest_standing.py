"""The row that began first: "who has been here the longest?"."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.longest_standing import longest_standing
from mate_cli.tables.table import Table
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

CLIENTS = table(
    "client,town,client since,orders",
    *("Kern,Basel,March 2019,12", "Roux,Bern,June 2021,40", "Holm,Basel,May 2020,7", "Lund,Bern,January 2022,9"),
)


@pytest.mark.parametrize(
    ("question", "client"),
    [
        ("Who has been a client the longest?", "Kern"),
        ("Which client have we had the longest?", "Kern"),
        ("Who has been with us for the longest time?", "Kern"),
        ("Which client from Bern has been with us the longest?", "Roux"),
        ("Who has been a client the shortest?", "Lund"),
        ("Who is the longest-serving client?", "Kern"),
        ("Who has the longest name?", None),
        ("Which town is the longest?", None),
        ("Who has had the longest break?", None),
        ("Who has the most orders?", None),
    ],
)
def test_the_longest_is_the_earliest(question: str, client: str | None) -> None:
    row = longest_standing(question, CLIENTS)
    assert (None if row is None else CLIENTS.rows[row][0].text) == client


@pytest.mark.parametrize(
    "columns",
    [
        table("client,joined,left", "Kern,2019,2024", "Roux,2021,2022"),  # has an end
        table("client,since,joined", "Kern,2019,2019", "Roux,2021,2021"),  # which one
        table("client,town", "Kern,Basel", "Roux,Bern"),
        table("client,since", "Kern,2019", "Roux,2019"),  # a tie
        table("client,since", "Kern,long ago", "Roux,lately"),
    ],
)
def test_without_one_first_date_no_row_is_the_first(columns: Table) -> None:
    assert longest_standing("Who has been a client the longest?", columns) is None


@given(st.lists(st.integers(1950, 2025), min_size=2, max_size=8, unique=True))
def test_the_longest_and_the_shortest_are_the_ends_of_the_years(years: list[int]) -> None:
    own = table("member,since", *(f"member {'abcdefgh'[place]},{year}" for place, year in enumerate(years)))
    assert longest_standing("Who has been a member the longest?", own) == int(np.argmin(years))
    assert longest_standing("Who has been a member the shortest?", own) == int(np.argmax(years))


def test_an_answer_gets_the_row_in_its_own_column() -> None:
    chosen = TableAnswer("q", ((1, 0), (3, 0)), (0.5, 0.7), "COUNT", 0.9)
    given = as_asked("Who has been a client the longest?", CLIENTS, chosen)
    assert (given.cells, given.probabilities, given.aggregation) == (((0, 0),), (0.7,), "NONE")
    scattered = TableAnswer("q", ((1, 0), (3, 1)), (0.5, 0.7), "NONE", 0.9)
    assert as_asked("Who has been a client the longest?", CLIENTS, scattered).cells == ((3, 1),)  # the surest
