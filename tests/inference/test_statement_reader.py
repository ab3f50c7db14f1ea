"""The rows of large tables by which statements are judged, with an encoder whose tokens are words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.inference.reading import Reading
from mate_cli.inference.statement_reader import StatementReader
from mate_cli.tables.table import Cell, Example, Table
from tests.inference.test_table_reader import encode

MOST = 60


def read(
    statement: str, rows: Sequence[Sequence[object]], header: Sequence[str] = ("order", "client", "price")
) -> Reading:
    body = tuple(tuple(Cell(str(value)) for value in row) for row in rows)
    table = Table("t", tuple(map(Cell, header)), body)
    (reading,) = StatementReader(encode, MOST).read([Example("0", statement, table)])
    return reading


ORDERS = [(f"A{1000 + row}", "Acme" if row in (3, 70) else f"Client {row % 4}", f"${row}.50") for row in range(100)]


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("The price of A1042 is $42.50", {42}),
        ("The price of A1042 is $17.50", {42, 17}),
        ("Order A1042 is of Client 1", {42}),  # the 25 rows of Client 1 would not fit
        ("Acme bought for $70.50", {3, 70}),
        ("Acme bought for $5.50", {3, 70, 5}),
        ("Acme bought 2 times", {3, 70}),
        ("A1042 has the highest price", {42}),
        ("A1042 is the cheapest order", {42}),
    ],
)
def test_the_rows_of_rare_names_are_read_among_others_that_fill_the_input(statement: str, rows: set[int]) -> None:
    reading = read(statement, ORDERS)
    assert rows <= {*reading.rows}
    assert reading.others == len(reading.rows) - len(rows)
    assert MOST - 5 < reading.encoded.full_length <= MOST  # a row more would have four tokens
    assert max(reading.rows) > 80  # from all parts of the table
    assert min(reading.rows) < 20


@pytest.mark.parametrize(
    "statement",
    [
        "There are 100 orders",
        "All prices are below the price of A1042",
        "Only Acme bought for $3.50",
        "A1042 cost more than A1041",
        "Client 3 bought 24 times",  # its rows do not fit
    ],
)
def test_statements_about_more_rows_are_judged_by_the_whole_table(statement: str) -> None:
    reading = read(statement, ORDERS)
    assert (reading.rows, reading.others) == ((), None)


@pytest.mark.parametrize(
    ("statement", "ends"),
    [
        ("A1050 has the highest price", {0, 99, 61, 17}),
        ("A1050 is the dearest", {0, 99, 61, 17, 33, 5}),  # of all columns, for no header is named
        ("A1050 has the most points", {0, 99, 33, 5}),
    ],
)
def test_superlatives_are_judged_among_the_ends_of_columns(statement: str, ends: set[int]) -> None:
    rows = [(f"A{1000 + row}", 7, f"${row % 90 + 10}.50") for row in range(100)]
    rows[61], rows[17] = ("A1061", 7, "$500.00"), ("A1017", 7, "$0.10")
    rows[33], rows[5] = ("A1033", 900, "$20.00"), ("A1005", 1, "$20.00")
    reading = read(statement, rows, ("order", "points", "price"))
    assert {50, *ends} <= {*reading.rows}
    assert reading.others == len(reading.rows) - 1
    assert reading.encoded.full_length <= MOST


def test_a_small_table_is_read_as_it_is() -> None:
    assert read("The price of A1003 is $3.50", ORDERS[:50]).rows == ()
    assert read("A1003 has the highest price", ORDERS[:12]).rows == ()
    assert read("A1003 has the highest price", ORDERS[:50]).others


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.text("xyz ", max_size=30)), min_size=1, max_size=200), st.data())
def test_inputs_hold_the_named_row_and_no_more_than_fit(cells: list[tuple[str, str]], data: st.DataObject) -> None:
    rows = [(f"{name} {number + 1000}", text, name) for number, (name, text) in enumerate(cells)]
    asked = data.draw(st.integers(0, len(rows) - 1))
    reading = read(f"row {rows[asked][0]} is here", rows)
    assert not reading.rows or (asked in reading.rows and reading.encoded.full_length <= MOST)
