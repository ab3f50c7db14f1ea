"""The rows that a question names by whole cells."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.named_rows import named_rows
from mate_cli.tables.table import Cell, Table


def table(*rows: str, header: str = "order,client,city,amount") -> Table:
    header_cells, *body = (tuple(Cell(text) for text in line.split(",")) for line in (header, *rows))
    return Table("orders", header_cells, tuple(body))


ORDERS = table(
    "INV-1001,Acme A,Oslo,12",
    "INV-1002,Globex,Rome,1950",
    "INV-1003,Acme A,Santa Cruz,7",
    "INV-1004,Initech,Cruz,$812.61",
    "INV-1005,Initech,Oslo,not paid",
    "INV-1006,A,Amount,12",
)


@pytest.mark.parametrize(
    ("question", "rows", "suffice"),
    [
        ("What is the amount of INV-1004?", (3,), True),
        ("What is the amount of inv 1004", (3,), True),
        ("Which orders are Acme A's?", (0, 2), True),
        ("How many orders did Acme A place in Oslo?", (0,), True),  # the most cells
        ("Who paid more, Acme A or Globex?", (0, 1, 2), True),
        ("Who paid more than Globex?", (1,), False),
        ("Who bought for $812.61?", (3,), True),
        ("Which order is from Santa Cruz?", (2,), True),  # not that from Cruz
        ("Which orders of Oslo were not paid?", (4,), True),  # the words of a name compare nothing
        ("Which orders of Oslo were not shipped?", (0, 4), False),
        ("What is the difference of INV-1001 and INV-1003?", (0, 2), True),
        ("Which order came after INV-1001?", (0,), False),
        ("Which orders cost less than INV-1001?", (0,), False),
        ("Which amount has a client?", (), False),  # neither a text of the header nor a single character is a name
        ("Which order has the highest price?", (), False),
        ("Which orders have 12?", (0, 5), True),
        ("?!", (), False),
    ],
)
def test_rows_that_questions_name(question: str, rows: tuple[int, ...], suffice: bool) -> None:
    assert named_rows(question, ORDERS) == (rows, suffice)


def test_states_are_not_the_words_of_a_question() -> None:
    states = table("Bloom,IN", "Ann Arbor,MI", "Salem,OR", "Bangor,ME", "Tulsa,OK", header="town,state")
    for question in ("Which town in the list is the largest or the oldest?", "Can you tell me the largest, ok?"):
        assert named_rows(question, states) == ((), False)
    assert named_rows("Which towns are in MI?", states) == ((1,), True)
    assert named_rows("In which state is Bangor?", states) == ((3,), True)


_WORDS = st.sampled_from(["ann", "lee", "oslo", "12", "b", "than"])
_CELLS = st.lists(_WORDS, max_size=3).map(" ".join)


@given(st.lists(_WORDS, max_size=8), st.lists(st.tuples(_CELLS, _CELLS), min_size=1, max_size=5))
def test_every_row_has_as_many_cells_in_the_question_and_none_has_more(words: list[str], cells: list) -> None:
    of_cells = Table("t", (Cell("x"), Cell("y")), tuple(tuple(map(Cell, row)) for row in cells))
    rows, suffice = named_rows(" ".join(words), of_cells)
    assert not suffice or rows
    if "than" in words and not any("than" in text for row in cells for text in row):
        assert not suffice
    padded = f" {' '.join(words)} "
    inside = [sum(len(text) > 1 and f" {text} " in padded for text in set(row)) for row in cells]
    assert all(inside[row] > 0 for row in rows)
    if len({text for row in cells for text in row if len(text) > 1 and f" {text} " in padded}) == 1 and rows:
        assert rows == tuple(row for row, count in enumerate(inside) if count)


def test_long_questions_and_tables_take_no_time() -> None:
    large = table(*(f"INV-{number},Acme,Oslo,{number}" for number in range(8000)))
    question = "word " * 5000 + "INV-4711"
    start = time.process_time()
    assert named_rows(question, large) == ((4711,), True)
    assert time.process_time() - start < 20
