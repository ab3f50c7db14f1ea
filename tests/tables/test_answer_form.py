"""The form of an answer that the words of a question ask for: rows with all its names, a sum, or one cell."""

from __future__ import annotations

import pytest

from mate_cli.tables.answer_form import amounts_beside, asks_for_count, asks_for_one, asks_for_sum, with_all_names
from mate_cli.tables.table import Cell, Table
from tests.tables.clubs import CLUBS, cells, record, table


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("How many members do the clubs of Holt have?", "members"),
        ("how many members are in Holt", "members"),
        ("What is the number of members in Holt?", "members"),
        ("How many cards were shown to clubs from Holt?", "yellow cards"),
        ("In Holt, how many yellow cards were shown?", "yellow cards"),
        ("How many of the goals were scored by clubs of Holt?", "goals for"),
        ("How many total days do they have?", "days per match"),
        ("How much was spent in Holt?", "spent"),
    ],
)
@pytest.mark.parametrize("operator", ["COUNT", "NONE"])
def test_how_many_of_a_column_of_numbers_is_their_sum(question: str, column: str, operator: str) -> None:
    assert asks_for_sum(question, CLUBS, cells(column, 0, 2), operator)


@pytest.mark.parametrize(
    ("question", "column", "operator"),
    [
        ("How many clubs are in Holt?", "members", "COUNT"),  # asks for another noun
        ("How many clubs have members?", "members", "COUNT"),
        ("How many members do the clubs of Holt have?", "club", "COUNT"),  # no numbers
        ("How many members do the clubs of Holt have?", "members", "AVERAGE"),
        ("How many goals were below 10?", "goals for", "COUNT"),  # a number of rows
        ("How many goals are more than 10?", "goals for", "COUNT"),
        ("How many members does each club of Holt have?", "members", "NONE"),
        ("How many different members are there?", "members", "COUNT"),
        ("How many more members do the Wolves have than the Comets?", "members", "NONE"),
        ("How many members did the Wolves have more than the Comets?", "members", "NONE"),
        ("How many weeks did they play?", "week", "COUNT"),  # a label
        ("How much was spent by each club?", "spent", "NONE"),
        ("How much did they grow?", "spent", "NONE"),
        ("How much did they pay?", "founded", "NONE"),  # years
        ("How much more did the Comets pay than the Wolves?", "spent", "NONE"),
    ],
)
def test_other_questions_are_left_as_they_are(question: str, column: str, operator: str) -> None:
    assert not asks_for_sum(question, CLUBS, cells(column, 0, 2), operator)


def test_cells_listed_for_a_total_are_added_up() -> None:
    for question in ("What is the total spent in Holt?", "what was the combined spent for Holt and Lund"):
        assert asks_for_sum(question, CLUBS, cells("spent", 0, 2), "NONE")
        assert not asks_for_sum(question, CLUBS, cells("spent", 0), "NONE")
        assert not asks_for_sum(question, CLUBS, cells("spent", 0, 2), "COUNT")
    assert not asks_for_sum("What is the total spent by each club?", CLUBS, cells("spent", 0, 2), "NONE")
    assert not asks_for_sum("What is the total of Holt?", CLUBS, cells("spent", 0, 2), "NONE")


@pytest.mark.parametrize(
    "question", ["How much did the clubs of Holt pay?", "how much was paid in Holt", "How much money did they spend?"]
)
def test_amounts_listed_for_what_was_paid_are_added_up(question: str) -> None:
    assert asks_for_sum(question, CLUBS, cells("spent", 0, 2), "NONE")
    assert not asks_for_sum(question, CLUBS, cells("spent", 0, 2), "COUNT")


def test_years_and_numbers_of_rows_are_no_amounts() -> None:
    years = table("years,rounds", "1961,1", "1974,2", "1983,3", "1990,4", "1998,5")
    assert not asks_for_sum("how many years are there", years, [(0, 0), (1, 0)], "COUNT")
    assert not asks_for_sum("how many rounds are there", table("round", "1", "2", "3"), [(0, 0), (1, 0)], "COUNT")


def test_a_listed_cell_alone_is_the_answer_and_cells_of_two_columns_have_no_sum() -> None:
    question = "How many members do the Comets have?"
    assert not asks_for_sum(question, CLUBS, cells("members", 0), "NONE")
    assert asks_for_sum(question, CLUBS, cells("members", 0), "COUNT")
    assert not asks_for_sum(question, CLUBS, [*cells("members", 0), *cells("spent", 0)], "COUNT")


@pytest.mark.parametrize(
    "question",
    [
        "Which is the largest club of Holt?",
        "Which club has the most members?",
        "Which club gets the most members?",
        "Which football club spends the least?",
        "Who has the highest number of members?",
        "What is Holt's oldest club?",
        "Which of the clubs was founded first?",
        "Which club was founded first in Holt?",
        "Which club was founded earliest?",
        "Which club was the first with over 10 members?",
        "What is the only club with 90 members?",
    ],
)
def test_a_superlative_in_the_singular_asks_for_one(question: str) -> None:
    assert asks_for_one(question, CLUBS, cells("club", 0, 2))


@pytest.mark.parametrize(
    "question",
    [
        "Which clubs have the most members?",
        "Which football clubs have the most members?",
        "Which large clubs got the most members?",
        "Which are the largest clubs?",
        "List the oldest clubs",
        "What are the three largest towns?",
        "Who won the first 2 games?",
        "Which clubs were founded last in Holt?",
        "Which club is the first and the last?",
        "Which club is in Holt?",
        "Which club has at least 20 members?",
        "Which club scored the most goals?",  # both chosen clubs have as many
    ],
)
def test_plurals_ties_and_other_questions_may_have_several_answers(question: str) -> None:
    assert not asks_for_one(question, CLUBS, cells("club", 0, 2))


PEOPLE = table(
    "name,role,town,age",
    "Finn Baker,designer,Graz,31",
    "Lea Conti,engineer,Graz,45",
    "Raul Ortiz,writer,Graz,28",
    "Ada Voss,engineer,Bonn,52",
)


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Which engineer works in Graz?", [1]),
        ("Which engineer, aged 45, works in Graz?", [1]),
        ("Who works in Graz?", [0, 1, 2]),  # one name
        ("Which doctor works in Graz?", [0, 1, 2]),
        ("Which engineer is other than Graz?", [0, 1, 2]),  # looks past the named rows
        ("Does Ada Voss, 52, work in Graz?", [0, 1, 2]),  # has more names in a row that was not chosen
    ],
)
def test_chosen_rows_have_all_the_names_that_a_question_joins(question: str, kept: list[int]) -> None:
    assert with_all_names(question, PEOPLE, [(row, 0) for row in range(3)], "NONE") == kept


def test_counted_rows_may_have_a_single_name_in_a_part_of_a_cell() -> None:
    question, everyone = "Who works in Bonn?", [(row, 0) for row in range(4)]
    assert [with_all_names(question, PEOPLE, everyone, operator) for operator in ("SUM", "NONE")] == [[3], [3]]
    assert with_all_names(question, PEOPLE, everyone, "COUNT") == [0, 1, 2, 3]


TRAINS = table("train,from,to", "RE 12,Kassel,Erfurt", "IC 4,Kassel,Leipzig", "RB 19,Erfurt,Kassel")


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Which train goes from Kassel to Erfurt?", [0]),
        ("Which train goes to Kassel from Erfurt?", [2]),
        ("Which trains come from Kassel?", [0, 1]),
        ("Which trains of Kassel are there?", [0, 1, 2]),
        ("Which trains from Kassel go to other than Erfurt?", [0, 1, 2]),
    ],
)
def test_a_name_behind_a_header_stands_in_its_column(question: str, kept: list[int]) -> None:
    assert with_all_names(question, TRAINS, [(row, 0) for row in range(3)], "COUNT") == kept


@pytest.mark.parametrize(
    ("question", "column", "operator", "counts"),
    [
        ("How many clubs are in Holt?", "club", "NONE", True),
        ("how many towns have a club", "town", "NONE", True),
        ("How many clubs are in Holt?", "club", "COUNT", False),  # it does already
        ("How many members does it have?", "members", "NONE", False),  # a number answers
        ("How many more clubs has Holt than Lund?", "club", "NONE", False),
        ("Which club has how many members?", "club", "NONE", False),
    ],
)
def test_no_list_of_names_answers_how_many(question: str, column: str, operator: str, counts: bool) -> None:
    assert asks_for_count(question, CLUBS, cells(column, 0, 2), operator) == counts
    assert not asks_for_count(question, CLUBS, [], operator)


def test_for_how_many_years_and_pay_are_counted_and_not_added_up() -> None:
    asked = "How many clubs are in Holt?"
    assert asks_for_count(asked, CLUBS, cells("founded", 0, 2), "SUM")
    assert not asks_for_count("Which clubs are in Holt?", CLUBS, cells("founded", 0, 2), "SUM")
    for column in ("members", "club", "week"):
        assert not asks_for_count(asked, CLUBS, cells(column, 0, 2), "SUM")
    assert not asks_for_count(asked, CLUBS, [*cells("founded", 0), *cells("members", 2)], "SUM")
    staff = table("name,city,salary", "Ann,Bonn,41000", "Bob,Graz,39500", "Cleo,Bonn,52000")
    paid = [(0, 2), (2, 2)]
    assert asks_for_count("How many people work in Bonn?", staff, paid, "SUM")
    for asked in ("How many dollars do they earn?", "How many thousand euros is that?", "How much do they earn?"):
        assert not asks_for_count(asked, staff, paid, "SUM")


GIFTS = table(
    "donor,city,amount,year,project",
    "Ann,Bonn,$250.00,2020,Shelter",
    "Bob,Graz,$900.50,2021,Food bank",
    "Cleo,Bonn,$40.00,2021,Shelter",
    "7 Dwarfs,Wald,$7.00,2022,Shelter",
)


@pytest.mark.parametrize(
    ("question", "rows", "operator", "beside"),
    [
        ("What was the average donation to the shelter?", (0, 2), "AVERAGE", [(0, 2), (2, 2)]),
        ("How much was given in Bonn altogether?", (2, 0), "SUM", [(2, 2), (0, 2)]),
        ("What was the average donation to the shelter?", (0, 2), "COUNT", []),
        ("What was the average donation to the shelter?", (0, 2), "NONE", []),
        ("Who gave to the shelter?", (0, 2), "SUM", []),  # nothing computed
        ("What was the total of the shelter?", (0, 3), "SUM", []),  # "7 Dwarfs" may be an amount
    ],
)
def test_amounts_beside_texts_are_computed_with(
    question: str, rows: tuple[int, ...], operator: str, beside: list[tuple[int, int]]
) -> None:
    assert amounts_beside(question, GIFTS, [(row, 0) for row in rows], operator) == beside


def test_of_several_amounts_beside_the_header_must_be_said() -> None:
    towns = cells("town", 0, 2)
    assert amounts_beside("What is the total of members in Holt?", CLUBS, towns, "SUM") == cells("members", 0, 2)
    assert amounts_beside("What is the total in Holt?", CLUBS, towns, "SUM") == []
    assert amounts_beside("What is the total of members and yellow cards?", CLUBS, towns, "SUM") == []
    assert amounts_beside("What is the total of members?", CLUBS, cells("spent", 0, 2), "SUM") == []  # has amounts
    mixed = [*cells("town", 0), *cells("club", 2)]
    assert amounts_beside("What is the total of members in Holt?", CLUBS, mixed, "SUM") == []


def test_words_for_numbers_answer_how_many() -> None:
    rooms = table("hotel,rooms,seats", "Linden,twenty two,none", "Mia,eight,some")
    assert not asks_for_count("How many rooms has the Linden?", rooms, [(0, 1)], "NONE")
    assert not asks_for_count("How many seats has the Linden?", rooms, [(0, 2)], "NONE")
    assert asks_for_count("How many hotels have some?", rooms, [(1, 0)], "NONE")


@pytest.mark.parametrize(
    ("cell", "counts"),
    [
        *(("2024-001", True), ("E-44", True), ("12/2023", True), ("R2", True), ("Mill 58", True)),
        *(
            ("40(2)", False),
            ("3 hours", False),
            ("1,200", False),
            ("$15", False),
            ("about 300", False),
            ("10kw", False),
            ("", False),
        ),
    ],
)
def test_codes_are_counted_and_quantities_are_not(cell: str, counts: bool) -> None:
    bills = Table("t", (Cell("invoice"), Cell("client")), ((Cell(cell), Cell("Oak")), (Cell("A"), Cell("Oak"))))
    assert asks_for_count("How many invoices does Oak have?", bills, [(0, 0)], "NONE") == counts


def test_the_record_of_an_answer_has_the_form_that_was_asked_for() -> None:
    summed = record("How many members are there in Holt?", "members", "COUNT", 0, 2)
    assert (summed["answer"], summed["operator"]) == (["130"], "SUM")
    assert summed["formula"] == "SUM(members of rows 0, 2) = 130"
    one = record("Which club of Holt has the most members?", "club", "NONE", 0, 2)
    assert (one["answer"], [cell["row"] for cell in one["cells"]]) == (["Wolves"], [2])  # the more probable
    joined = record("How many clubs of Holt have 5 cards?", "club", "COUNT", 0, 2)
    assert joined["answer"] == ["2"]  # "5" alone is too short for a name
    joined = record("How many clubs of Holt were founded in 1974?", "club", "COUNT", 0, 2)
    assert (joined["answer"], [cell["row"] for cell in joined["cells"]]) == (["1"], [2])
    counted = record("How many clubs are in Holt?", "club", "NONE", 0, 2)
    assert (counted["answer"], counted["formula"]) == (["2"], "COUNT(club of rows 0, 2) = 2")
    several = record("Which clubs are in Holt?", "club", "NONE", 0, 2)
    assert several["answer"] == ["Comets", "Wolves"]
