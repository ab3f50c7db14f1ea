"""Made questions say what they mean: one column, one row, one order, and nothing that is known already."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mate_cli.tables.queries.generate import records
from mate_cli.tables.queries.scales import scale
from mate_cli.tables.queries.sheet import Sheet
from mate_cli.tables.queries.words import Noun, noun
from mate_cli.tables.table import Cell, Table
from tests.tables.made_tables import made_table
from tests.tables.test_queries import table_of


def made_of(*tables: Table, conversations: float = 0.0, number: int = 1000) -> list[dict[str, Any]]:
    """Return the first questions about tables as records, with their final question mark removed."""
    made = islice(records(tables, 0, conversations), number)
    return [{**record, "question": record["question"].strip("?")} for record in made]


def questions_of(*tables: Table, kinds: tuple[str, ...] = (), conversations: float = 0.0) -> list[str]:
    made = made_of(*tables, conversations=conversations)
    return [record["question"] for record in made if not kinds or record["kind"] in kinds]


def test_a_follow_up_asks_for_nothing_that_was_said() -> None:
    made = made_of(*map(made_table, range(30)), conversations=1.0)
    for record in made:
        if record["position"] and " IN " not in record["sql"]:
            asked, _, condition = record["sql"].removeprefix("SELECT ").partition(" FROM t")
            assert f"{asked} = '" not in condition, record["question"]
    assert {"follow-up: beside", "follow-up: shift"} <= {record["kind"] for record in made}


def test_a_conversation_goes_on_about_other_cells() -> None:
    for before, after in pairwise(made_of(*map(made_table, range(30)), conversations=1.0)):
        assert not after["position"] or before["cells"] != after["cells"]


IN_TIME = re.compile(r"\b(came|comes|next|previous to|preceded|followed|prior to)\b")
ORDER = ("neighbour", "count in order")


def in_time(*years: str) -> list[str]:
    """Return the questions about the order of rows in those years that take it for the order of time."""
    table = table_of("name|year", *(f"{'abcdefgh'[row] * 3}|{year}" for row, year in enumerate(years)))
    made = questions_of(table, kinds=ORDER)
    assert len(made) > 10
    return [question for question in made if IN_TIME.search(question) and "listed" not in question]


def test_rows_come_after_others_only_in_the_order_of_time() -> None:
    assert in_time("1990", "1992", "1995", "1999")
    assert not in_time("1999", "1995", "1992", "1990")
    assert not in_time("1990", "1990", "1992", "1995")
    assert not in_time("1990", "", "1992", "1995")
    assert not in_time("x", "y", "z", "w")


GAMES = table_of(
    "date|opponent|attendance|earnings|wins|total",
    *(
        f"{3 * row + 1} may 1999|{name}|{5_000 + row**3:,}|{700 - 11 * row * row}|{2 * row + 3}|{50 + row * row}"
        for row, name in enumerate(("ajax", "bari", "como", "derby", "espoo", "fulham"))
    ),
)
CITIES = ("rome", "bari", "rome", "oslo", "lima")
MANY = re.compile(
    r"\b(how many|number of|amount of|most|fewest|fewer|more|least) (total |more |fewer )?total$"
    r"|\b(how many|number of|amount of|most|fewest|fewer|more) (more |fewer |total )?(attendance|crowd|earnings)\b"
)


def test_what_is_no_number_of_things_is_not_counted() -> None:
    questions = questions_of(GAMES, conversations=0.2)
    assert not [question for question in questions if MANY.search(question)]
    assert any("total attendance" in question for question in questions)
    assert any(question.startswith("how much earnings") for question in questions)
    assert any(question.startswith("how many wins") for question in questions)


def ordered(header: str, *values: str) -> set[str]:
    """Return the operators and comparisons of questions about a column."""
    table = table_of(f"name|{header}|note", *(f"{'abcdefgh'[n] * 3}|{value}|x{n}" for n, value in enumerate(values)))
    signs = {"MAX", "MIN", "SUM", "AVG", "<", ">"}
    made = [record["sql"] for record in made_of(table, conversations=0.2, number=600)]
    quoted = re.escape(f'"{header}"')
    found = {sign for sql in made for sign in re.findall(rf"(\w+)\({quoted}\)|{quoted} ([<>])", sql) for sign in sign}
    return found & signs


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("rank", ("1", "2", "3", "4", "5")),
        ("something", ("3", "5", "4", "2", "1")),  # all numbers from 1 on: a rank, whatever its name
        ("result", ("1st", "2nd", "7th", "9th", "10th")),
        ("avg finish", ("1.5", "4.5", "3", "8", "9")),
        ("november", ("2", "5", "9", "14", "30")),
        ("code", ("17", "5", "9", "14", "30")),
        ("opponents", ("17", "5", "9", "14", "30")),
    ],
)
def test_numbers_that_are_labels_are_not_compared(header: str, values: tuple[str, ...]) -> None:
    assert not ordered(header, *values)


@pytest.mark.parametrize("header", ["goals", "points per game", "score", "division titles", "attendance"])
def test_other_numbers_are_compared(header: str) -> None:
    assert {"MAX", "MIN", ">", "<"} <= ordered(header, "17", "5", "9", "14", "30")


def test_times_are_long_or_short() -> None:
    body = (f"{'abcdef'[row] * 3}|{70 - row * row}|x{row}" for row in range(6))
    questions = questions_of(table_of("name|time|note", *body))
    assert any("the longest time" in question for question in questions)
    wrong = re.compile(r"\b(highest|largest|greatest|lowest|smallest|least|most|higher|larger|lower) (total )?time")
    assert not [question for question in questions if wrong.search(question)]


ALIKE = table_of(
    "name|weight in kg|weight in lb|club (home)|club (away)|title|place|venue",
    *(
        f"{n}{n}|{50 + row * row}|{110 + 3 * row * row}|{n}fc|{n}utd|the {n}|{n}ville|{n} park"
        for row, n in enumerate(("an", "bo", "cy", "di", "ed", "flo"))
    ),
)


def test_a_noun_names_one_column() -> None:
    random = Random(0)
    names = {
        column.name: {noun(column, random).one for _ in range(50)} | {noun(column, random).many for _ in range(50)}
        for column in Sheet(ALIKE).columns
    }
    assert names["weight in kg"] <= {"weight in kg", "weights in kg", "weight in kgs"}
    assert names["club (home)"] == {"club (home)", "clubs (home)"}
    every = [name for several in names.values() for name in several]
    assert len(every) == len({*every})


HEADERS = st.text("ab no of by.?%#/-()[]º1é", min_size=1, max_size=14).filter(str.strip)


@settings(max_examples=60, deadline=None)
@given(st.lists(HEADERS, min_size=3, max_size=5), st.integers(0, 3))
@example(["points", "club", "pts.", "team *"], 0)
def test_any_headers_can_be_asked_about(headers: list[str], same: int) -> None:
    headers = [*headers, headers[same % len(headers)] + "?"]
    words = [[f"{letter * 3} {place}" for letter in "abcdef"] for place in range(len(headers))]
    numbers = [[f"{row * row + place}" for row in range(6)] for place in range(len(headers))]
    columns = [(words if place % 2 else numbers)[place] for place in range(len(headers))]
    rows = zip(*columns, strict=True)
    cells = [[Cell(text) for text in row] for row in (headers, *rows)]
    table = Table("t", tuple(cells[0]), tuple(map(tuple, cells[1:])))
    assume(not Sheet(table).problem)
    for record in made_of(table, conversations=0.5, number=40):
        assert record["question"].strip()


def test_an_adjective_measures_one_column() -> None:
    for headers in ("total capacity|seating capacity", "area|population"):
        body = (f"{'abcdef'[row] * 3}|{70 - row * row}|{50 + row}|x{row}" for row in range(6))
        columns = Sheet(table_of(f"ground|{headers}|note", *body)).columns
        assert [scale(column) for column in columns] == [None] * 4


def test_who_means_one_column() -> None:
    body = [f"{n}|{n}o|{3 + row * row}" for row, n in enumerate(("ann", "bob", "cid", "dot", "eve"))]
    alone = questions_of(table_of("winner|city|score", *body))
    assert any(re.match("who (had|has|is|was) ", question) for question in alone)
    several = questions_of(table_of("winner|coach|score", *body))
    assert not [question for question in several if re.match("who (had|has|is listed|with) ", question)]


def test_a_value_that_other_columns_have_too_is_said_with_its_column() -> None:
    body = ("ann|spain|oslo, spain|pro", "bob|peru|lima, peru|am", "cid|spain|rome|pro", "dot|italy|bari|am pro")
    questions = questions_of(table_of("name|country|note|status", *body))
    unclear = re.compile(r"\b(from|in|is|are|was|were|came|come|located|with|without) (spain|peru|am|pro)\b")
    named = re.compile("country|nation|status")
    assert not [question for question in questions if unclear.search(question) and not named.search(question)]


def test_only_qualities_are_said_without_their_column() -> None:
    body = ("ann|pro|smith|5.6|1", "bob|am|jones|7.5|x", "cid|pro|smith|7.7|y", "dot|am|poe|7.9|z", "eve|am|ray|8|w")
    questions = questions_of(table_of("name|status|director|rating|note", *body))
    ends = (re.search(r"(?<!listed )(?<!director )(?<!rating )\b(?:is|are|was|were) ([\w.]+)$", q) for q in questions)
    said = {match[1] for match in ends if match and not re.search("whose|note", match.string)}
    assert {"am", "pro"} <= said
    assert not said & {"smith", "jones", "5.6", "poe", "ray", "x", "y", "z"}


@pytest.mark.parametrize(("last", "is_said"), [("5th", True), ("", False), ("n/a", False)])
def test_what_rows_did_not_have_is_asked_only_if_no_cell_is_empty(last: str, is_said: bool) -> None:
    finishes = ("1st", "1st", "2nd", "2nd", "3rd", "3rd", last)
    questions = questions_of(table_of("team|finish", *(f"{'abcdefg'[n]}|{text}" for n, text in enumerate(finishes))))
    assert any(re.search("did not have a finish|a finish other than", question) for question in questions) == is_said
    flags = ("yes", "no", "yes", "no", "yes", "no", "yes" if is_said else last)
    flagged = questions_of(table_of("team|coach", *(f"{'abcdefg'[n]}|{text}" for n, text in enumerate(flags))))
    assert any(re.search("(has|have) no coach|without a coach", question) for question in flagged) == is_said
    assert any(re.search("(has|have) a coach|with a coach", question) for question in flagged)


def test_a_value_with_the_noun_of_its_column_is_said_alone() -> None:
    body = (f"{n}|round {row // 2}|x{row}" for row, n in enumerate(("ann", "bob", "cid", "dot", "eve")))
    questions = questions_of(table_of("name|round|note", *body))
    assert any("with round 1" in question for question in questions)
    assert not [question for question in questions if re.search(r"round (of |is )?round \d", question)]


DOUBLED = table_of(
    "name|total points|names of guests|number of fans|first elected|week of",
    *(
        f"{n}|{3 + row * row}|guest {n}|{40 - row * row}|{1999 - 3 * row}|event {n}"
        for row, n in enumerate(("a1", "b2", "c3", "d4"))
    ),
)


def test_no_word_of_a_header_doubles_one_of_the_question() -> None:
    questions = questions_of(DOUBLED, conversations=0.3)
    doubled = re.compile(r"\b(name|total|number|first)s? (of )?(the )?\1s?\b")
    allowed = re.compile(r"names? of (the )?guests?")
    assert not [question for question in questions if doubled.search(allowed.sub("guests", question))]
    assert not [question for question in questions if question.startswith("name the name") or "of of" in question]
    assert any("earliest year first elected" in question for question in questions)


def test_dates_have_no_names() -> None:
    questions = questions_of(GAMES, kinds=("list",), conversations=1.0)
    assert "what are the names of the opponents" in questions
    assert not [question for question in questions if "names of the dates" in question]
    scores = table_of("score|note", *(f"{n} - 2|x{n}" for n in (3, 5, 4, 9, 7)))
    for table, is_said in ((GAMES, True), (scores, False)):
        neighbours = questions_of(table, kinds=("neighbour",))
        assert any("the name of the" in question for question in neighbours) == is_said


def test_first_and_last_are_said_of_times_only_in_their_order() -> None:
    years, ends = (1990, 1993, 1997, 1999, 2004), re.compile(r"\b(first|last) year\b")
    for order, is_said in ((years, True), (years[::-1], False)):
        body = (f"{n}|{year}|x{year}" for n, year in zip(("ann", "bob", "cid", "dot", "eve"), order, strict=True))
        questions = questions_of(table_of("name|year|note", *body))
        assert any(map(ends.search, questions)) == is_said


@pytest.mark.parametrize(
    ("header", "values", "names"),
    [
        ("directed by", ("ann", "bob", "cid"), {"director", "directors"}),
        ("from", ("1990", "1992", "1999"), {"start year", "start years"}),
        ("until", ("5 may 1990", "7 june 1992", "1 may 1999"), {"end date", "end dates"}),
        ("opened", ("1990", "1992", "1999"), {"year opened", "years opened"}),
        ("us viewers (million)", ("9.5", "7.2", "8.8"), {"us viewers in millions"}),
        ("res", ("win", "loss", "win"), {"result", "results"}),
        ("td 's", ("9", "7", "15"), {"td 's"}),
        ("pop . (2001)", ("900", "720", "1500"), {"population", "populations"}),
        ("prize money", ("900", "720", "1500"), {"prize money", "prize moneys"}),
        ("2008", ("9", "7", "15"), {"2008"}),
    ],
)
def test_headers_that_are_no_nouns_become_some(header: str, values: tuple[str, ...], names: set[str]) -> None:
    random, table = Random(0), table_of(f"name|{header}", *(f"n{row}|{value}" for row, value in enumerate(values)))
    column = Sheet(table).columns[1]
    assert {name for _ in range(50) for name in both_of(noun(column, random))} == names


def both_of(name: Noun) -> tuple[str, str]:
    return name.one, name.many


def test_who_directed_it_is_said_as_the_header_does() -> None:
    body = (f"film {n}|{n}|x{n}" for n in ("ann", "bob", "bob", "cid", "eve"))
    questions = questions_of(table_of("title|directed by|note", *body))
    assert any(question.endswith("directed by ann") for question in questions)
    assert not [question for question in questions if re.search(r"(the|a|whose) directed by", question)]


def test_who_is_not_said_beside_runners_up() -> None:
    body = [f"{n}|{n}o|{3 + row * row}" for row, n in enumerate(("ann", "bob", "cid", "dot", "eve"))]
    questions = questions_of(table_of("winner|runner (s) - up|score", *body))
    assert not [question for question in questions if re.match("who (had|has|is listed|with) ", question)]


def test_only_what_has_a_name_is_tall() -> None:
    for subjects, is_said in ((("ann", "bob", "cid", "dot"), True), (("1 - 2", "2 - 2", "0 - 1", "3 - 1"), False)):
        body = (f"{subject}|{170 + row * row}|x{row}" for row, subject in enumerate(subjects))
        questions = questions_of(table_of("entry|height|note", *body))
        assert any(re.search(r"\b(tall|taller|tallest|short|shorter|shortest)\b", q) for q in questions) == is_said


def test_a_total_is_had() -> None:
    sums = questions_of(GAMES, kinds=("sum",))
    assert any(re.search("how many wins d(o|id) .* have", question) for question in sums)
    assert not [question for question in sums if re.search(r"how (many|much) (total )?\w+ (of|for)\b", question)]


def test_a_sum_may_be_asked_for_without_a_word_that_says_so() -> None:
    body = [f"{n}|{city}|{2 + row * row}" for row, (n, city) in enumerate(zip("abcde", CITIES, strict=True))]
    table = table_of("team|city|goals", *body)
    made = [record for record in islice(records([table], 0, 0.0), 1500) if record["kind"] == "sum"]
    plain = {
        record["question"]: record["answer"]
        for record in made
        if not re.search("total|combined|together|altogether|in all|sum of", record["question"])
    }
    told = {question: answer for question, answer in plain.items() if re.search(r"are there in rome\b", question)}
    assert set(map(tuple, told.values())) == {("8",)}  # of the first and the third row: 2 + 6
    assert any(re.search("how many goals did the teams in rome have", question) for question in plain)
    assert not [question for question in plain if re.search("there (that|whose)", question)]


def test_the_next_in_time_is_later() -> None:
    ranked = questions_of(*map(made_table, range(40)), kinds=("ranked",))
    assert any("had the next " in question for question in ranked)
    assert not [
        question for question in ranked if re.search("the next (latest|most recent|earliest|first|last)", question)
    ]


def test_headers_that_take_their_values_after_them_do() -> None:
    body = (f"{n}|{city}|x{n}" for n, city in zip("abcde", CITIES, strict=True))
    questions = questions_of(table_of("name|moving to|note", *body), kinds=("select", "count", "two conditions"))
    assert any("moving to rome" in question for question in questions)
    assert not [
        question for question in questions if re.search("(the|a|whose) moving to (of|is|other|[robl])", question)
    ]
