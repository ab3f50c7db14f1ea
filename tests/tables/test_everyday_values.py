"""Numbers, dates and times of users' own tables, and of questions on them, where the release reads them otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.columns import EQUAL, GREATER, LESS, column_values
from mate_cli.tables.everyday_values import ScaledValue, question_values
from mate_cli.tables.user_limits import table_of
from mate_cli.tables.values import Date, find_values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("more than 1 million people?", (ScaledValue(1, 1e6),)),
        ("between 1.5 and two million?", (1.5, ScaledValue(2, 1e6))),
        ("over $50k in 2004?", (2004, Date(2004), ScaledValue(50, 1e3))),
        ("a $1.5M house, or 2bn?", (ScaledValue(1.5, 1e6), ScaledValue(2, 1e9))),
        ("3 millions, 5-million", (ScaledValue(3, 1e6), ScaledValue(5, 1e6))),
        ("about half a million, or a hundred", (ScaledValue(0.5, 1e6), ScaledValue(1, 1e2))),
        ("5 km, 3 m, 2 billionaires, 4 k", (5, 3, 2, 4)),
    ],
)
def test_numbers_with_a_factor(question: str, values: tuple[object, ...]) -> None:
    assert question_values(question) == values


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (("2023-05-01", "2023-01-15", "2024-02-01"), [2, 1, 3]),
        (("May 5, 2023", "March 7, 2024", "June 1, 2022"), [2, 3, 1]),
        (("12.03.2021", "01.04.2021", "15.01.2022"), [1, 2, 3]),
        (("5/1/2023", "1/15/2023", "02/01/2024"), [2, 1, 3]),  # months first
        (("31/01/2023", "01/02/2023", "2/1/2024"), [1, 2, 3]),  # days first
        (("2023/5/1", "2023/10/1", "2022/12/31"), [2, 3, 1]),
        (("2023-05-01 14:30:00", "2023-01-15T00:00:00Z", "2024-02-01"), [2, 1, 3]),
        (("2031", "1995", "2008"), [3, 1, 2]),
        (("2024-02-01 14:30:00", "2024-02-01T09:15:00Z", "2024-02-01 14:05"), [3, 1, 2]),
        (("14:30", "9:45", "14:05", ""), [3, 1, 2, 0]),
        (("2:30 pm", "11:45 AM", "12:05 a.m.", "9:00 p.m."), [3, 2, 1, 4]),
        (("59:30", "1:02:03", "1:01:59.5"), [1, 3, 2]),
        (("1:23.456", "1:23.4", "0:59.99"), [3, 2, 1]),
    ],
)
def test_dates_of_users_tables_are_in_order(texts: tuple[str, ...], order: list[int]) -> None:
    own = table_of(Path("own.csv"), ["when"], [[text] for text in texts])
    assert column_values(own).rank[:, 0].tolist() == order


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("since 2022?", [GREATER, EQUAL]),
        ("after 7/15/2022?", [GREATER, GREATER]),
        ("after 15/1/2022?", [GREATER, LESS]),
        ("before May 2022?", [GREATER, LESS]),
    ],  # the value of the question to that of the cell
)
def test_dates_of_questions(question: str, expected: list[int]) -> None:
    own = column_values(table_of(Path("own.csv"), ["when"], [["30/12/2021"], ["6/7/2022"]]))
    assert own.relations(question_values(question))[:, 0].tolist() == expected


def test_times_of_questions() -> None:
    own = column_values(table_of(Path("own.csv"), ["leaves"], [["14:30"], ["14:05"], ["9:45"]]))
    after = own.relations(question_values("Which trains leave after 2:10 pm?"))
    assert after[:, 0].tolist() == [LESS, GREATER, GREATER]
    assert own.relations(question_values("at 14:05?"))[:, 0].tolist() == [LESS, EQUAL, GREATER]


@given(st.text("0123456789.,- $julydec", max_size=20))
def test_other_values_are_those_of_the_release(question: str) -> None:
    assert question_values(question) == find_values(question)


PIECES = st.sampled_from(
    [*"0123456789٣½²$€%.,:/-'()TZ", " ", "12", "2024", "99", "31", "pm", "million", "M", "k", "nan"]
)


@given(st.lists(st.lists(PIECES, max_size=9).map("".join), min_size=1, max_size=5), st.lists(PIECES, max_size=9))
def test_any_texts_are_read(texts: list[str], question: list[str]) -> None:
    values = column_values(table_of(Path("own.csv"), ["x"], [[text] for text in texts]))
    assert not np.isnan(values.relations(question_values("".join(question)))).any()
    has_value = ~np.isnan(values.numbers) | values.dates.any(axis=-1)
    assert not values.rank[~has_value].any()


def test_a_factor_counts_for_columns_with_such_numbers() -> None:
    header, rows = ["people", "in millions", "rank"], [["1,655,956", "1.6", "1"], ["717,710", "0.7", "2"]]
    values = column_values(table_of(Path("own.csv"), header, rows))
    bits = values.relations(question_values("Which has more than 1 million people?"))
    assert bits.tolist() == [[LESS, LESS, EQUAL], [GREATER, GREATER, LESS]]
    assert values.relations(find_values("more than 1 million"))[1, 0] == LESS  # what the release makes of it
