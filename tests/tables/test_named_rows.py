"""The rows that a question names by whole cells."""

from __future__ import annotations

import time
from itertools import product

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
        ("Which order preceded INV-1003?", (2,), False),
        ("Which orders cost less than INV-1001?", (0,), False),
        ("Which amount has a client?", (), False),  # neither a text of the header nor a single character is a name
        ("Which order has the highest price?", (), False),
        ("Which orders have 12?", (0, 5), False),  # a number to compare with, or part of a name
        ("Which orders of Oslo have 12?", (0,), True),
        ("What is the amount of order number 1004?", (3,), True),
        ("Which order is 1004?", (3,), True),
        ("Which client paid 1004?", (), False),  # a number alone may be an amount
        ("Is 100 the amount of an order?", (), False),
        ("Which order did the company from Cruz in Santa Monica place?", (2,), True),
        ("Which orders were paid, and not shipped?", (4,), True),
        ("Which client did not pay?", (), False),
        ("?!", (), False),
    ],
)
def test_rows_that_questions_name(question: str, rows: tuple[int, ...], suffice: bool) -> None:
    assert named_rows(question, ORDERS)[:2] == (rows, suffice)


def test_states_are_not_the_words_of_a_question() -> None:
    states = table("Bloom,IN", "Ann Arbor,MI", "Salem,OR", "Bangor,ME", "Tulsa,OK", header="town,state")
    for question in ("Which town in the list is the largest or the oldest?", "Can you tell me the largest, ok?"):
        assert named_rows(question, states)[:2] == ((), False)
    assert named_rows("Which towns are in MI?", states)[:2] == ((1,), True)
    assert named_rows("In which state is Bangor?", states)[:2] == ((3,), True)


def test_a_name_counts_whatever_the_order_of_its_words_and_what_stands_between() -> None:
    stations = table(
        "Birchmere 10,Ann B. Adler,red,3",
        "Birchmere 11,Bob Adler,blue,10",
        "Elm of 10,Team A,red,2018",
        "Ashdale 3,Cy Poe,blue-4711,June 2018",
        "Ashdale 5,Di Poe,blue-1998,4711",
        header="station,owner,line,platforms",
    )
    for question, rows in (
        ("How many platforms does Birchmere part 10 have?", (0,)),  # not the row with 10 platforms
        ("Which line is part 10 of Birchmere on?", (0,)),
        ("What does Adler, Ann B. own?", (0,)),
        ("Who of Birchmere and of the ten others, 10 in all, has most?", (1,)),  # too far apart
        ("Which team has a line?", ()),  # "a" is a word of any question
        ("Which elm has 10?", (1,)),
        ("What was opened in 2018?", (2,)),  # a date is no code
        ("Which station is line 4711?", (3,)),
        ("Which station is line 1998?", ()),  # may be a year
    ):
        assert named_rows(question, stations).rows == rows


MISSPELT = table(
    "Elmham 5,Ann B. Adler,red",
    "Elmham 12,Bob Adler,blue",
    "Elmley 12,Zoë Moore,green",
    "Märsta,Guinea,lemon",
    "Marsta,Gil Horn,metre",
    header="station,owner,colour",
)


@pytest.mark.parametrize(
    ("question", "rows", "spelling"),
    [
        ("Which colour has Emlham 5?", (0,), (("emlham", "elmham"),)),
        ("Which colour has Emlham 12?", (1,), (("emlham", "elmham"),)),  # not all with a cell of 12
        ("Which station does Ann B. Alder own?", (0,), (("alder", "adler"),)),
        ("What does An B. Adler own?", (), ()),  # short words are like many others
        ("Which station does Gil Horm own?", (4,), (("horm", "horn"),)),
        ("Which colour have marsta and märsta?", (3, 4), ()),
        ("What does Zoe Moore own?", (2,), ()),
        ("Who is in Giunea?", (3,), (("giunea", "guinea"),)),
        ("Who owns the lemons?", (), ()),  # another form of a word
        ("Who owns more?", (), ()),  # too short for a misspelt Moore
        ("Which station is elsewhere?", (), ()),
        ("Which stations come after Emlham 5?", (0,), (("emlham", "elmham"),)),
        ("Which statoin is red?", (0,), ()),  # a word of the header, beside a name that suffices
        ("Who is older, Bob Adler or Zoe Moroe?", (1, 2), (("moroe", "moore"),)),
        ("Which station of Bob Adler is bleu?", (1,), ()),  # a row that is found already
        ("Does Ann B. Adler own Elmham 5 or Emlham 12?", (0,), ()),  # its second row would have one name of two
    ],
)
def test_misspelt_names(question: str, rows: tuple[int, ...], spelling: tuple[tuple[str, str], ...]) -> None:
    named = named_rows(question, MISSPELT)
    assert (named.rows, named.spelling) == (rows, spelling)
    assert named.suffice == (bool(rows) and "after" not in question)


_WORDS = st.sampled_from(["ann", "lee", "oslo", "12", "b", "than", "of"])
_CELLS = st.lists(_WORDS, max_size=3).map(" ".join)


@given(st.lists(_WORDS, max_size=8), st.lists(st.tuples(_CELLS, _CELLS), min_size=1, max_size=5))
def test_all_rows_that_are_named_have_a_cell_in_the_question(words: list[str], cells: list) -> None:
    of_cells = Table("t", (Cell("x"), Cell("y")), tuple(tuple(map(Cell, row)) for row in cells))
    rows, suffice, *_ = named_rows(" ".join(words), of_cells)
    assert not suffice or rows
    if suffice:
        assert {text for row in rows for text in cells[row]} != {"12"}
    if "than" in words and not any("than" in text for row in cells for text in row):
        assert not suffice
    stands = {text for row in cells for text in row if _stands(text.split(), words)}
    assert all(stands & {*cells[row]} for row in rows)
    assert bool(rows) == bool(stands)
    if len(stands) == 1:
        assert rows == tuple(row for row, texts in enumerate(cells) if stands & {*texts})


def _stands(text: list[str], words: list[str]) -> bool:
    """Whether the words of a cell stand in a question: as they are, or with others in five places."""
    if f" {' '.join(text)} " in f" {' '.join(words)} ":
        return len(" ".join(text)) > 1 and text != ["of"]  # the shortest name; a word of any question
    places = [[place for place, word in enumerate(words) if word == of_text] for of_text in {*text}]
    if len(places) < 2 or "of" in text:
        return False
    return any(max(chosen) - min(chosen) < len(places) + 2 for chosen in product(*places))


def test_long_questions_and_tables_take_no_time() -> None:
    large = table(*(f"INV-{number},Acme,Oslo,{number}" for number in range(8000)))
    question = "word " * 5000 + "INV-4711"
    start = time.process_time()
    assert named_rows(question, large)[:2] == ((4711,), True)
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the average salary in IT?", (0, 2)),
        ("what is it in IT", (0, 2)),
        ("Who is head of IT?", (3,)),  # the longest name counts
        ("Who lives in OR?", (1,)),
        ("Is it HR or sales?", (3,)),
        ("WHO WORKS IN IT?", ()),  # all in capitals tells nothing
        ("Is it so?", ()),
        ("Who is IN?", ()),  # a word of the header
    ],
)
def test_words_of_any_question_are_names_in_capitals(question: str, rows: tuple[int, ...]) -> None:
    rows_of_staff = ("Ann,IT,ME,clerk", "Bob,or,OR,clerk", "Cleo,IT,AZ,it", "Dan,HR,UT,head of IT")
    assert named_rows(question, table(*rows_of_staff, header="name,team,in,job")).rows == rows
