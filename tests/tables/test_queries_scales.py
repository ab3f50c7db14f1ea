"""Adjectives in made questions: their forms, the columns that they measure, and the rows that they single out."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

import pytest

from mate_cli.tables.queries.generate import records
from mate_cli.tables.queries.measures import with_measures
from mate_cli.tables.queries.scales import event, more, most, scale
from mate_cli.tables.queries.sheet import Sheet
from mate_cli.tables.queries.wording import of_several
from mate_cli.tables.table import Cell, Table

HEADER = ("tower", "Height in m", "Price", "opened", "open")
ROWS = [
    ("Alpha", 120, 40, 1990, "yes"),
    ("Beta", 85, 55, 2004, "no"),
    ("Gamma", 200, 35, 1985, "no"),
    ("Delta", 60, 70, 2011, "yes"),
    ("Epsilon", 150, 20, 1972, "yes"),
]
TOWERS = Table(
    "towers", tuple(map(Cell, HEADER)), tuple(tuple(Cell(str(value)) for value in row) for row in ROWS)
)  # fmt: skip
BEST = {
    "tallest": max(ROWS, key=lambda row: row[1]),
    "shortest": min(ROWS, key=lambda row: row[1]),
    "most expensive": max(ROWS, key=lambda row: row[2]),
    "cheapest": min(ROWS, key=lambda row: row[2]),
    "newest": max(ROWS, key=lambda row: row[3]),
    "oldest": min(ROWS, key=lambda row: row[3]),
}


@pytest.mark.parametrize(
    ("adjective", "comparative", "superlative"),
    [
        ("tall", "taller", "tallest"),
        ("large", "larger", "largest"),
        ("heavy", "heavier", "heaviest"),
        ("expensive", "more expensive", "most expensive"),
        ("populous", "more populous", "most populous"),
        ("shallow", "shallower", "shallowest"),
    ],
)
def test_forms(adjective: str, comparative: str, superlative: str) -> None:
    assert (more(adjective), most(adjective)) == (comparative, superlative)


def test_columns_that_adjectives_measure() -> None:
    columns = {column.name: column for column in Sheet(TOWERS).columns}
    assert scale(columns["Height in m"]) == ("tall", "short")
    assert scale(columns["Price"]) == ("expensive", "cheap")
    assert scale(columns["opened"]) == ("new", "old")
    assert event(columns["opened"]) == "opened"
    assert scale(columns["tower"]) is scale(columns["open"]) is event(columns["Price"]) is None


@pytest.mark.parametrize(
    ("headers", "adjectives"),
    [
        (("tour", "Days"), ("long", "short")),
        (("room", "Seats"), ("large", "small")),
        (("flat", "Rent"), ("expensive", "cheap")),
        (("hotel", "Rooms", "Beds"), None),  # which of the two makes it large?
    ],
)
def test_adjectives_of_what_users_count(headers: tuple[str, ...], adjectives: tuple[str, str] | None) -> None:
    rows = [("Alpha", "12", "7"), ("Beta", "8", "40"), ("Gamma", "30", "21")]
    table = Table("t", tuple(map(Cell, headers)), tuple(tuple(map(Cell, row[: len(headers)])) for row in rows))
    assert scale(Sheet(table).columns[1]) == adjectives


SINGLED = re.compile(r"(?:who|wh[a-z]+|what is|which is)(?: \w+)? (?:is|was) (?:the )?(.+?)(?: tower)?\??")
COMPARED = re.compile(r"(taller|shorter|cheaper|more expensive|newer|older)[,:]? (\w+) or (\w+)")
DIRECTIONS = {
    "taller": (1, 1),
    "shorter": (1, -1),
    "more expensive": (2, 1),
    "cheaper": (2, -1),
    "newer": (3, 1),
    "older": (3, -1),
}


def test_an_adjective_singles_out_the_row_that_it_says() -> None:
    found, compared = set(), set()
    for record in islice(records([TOWERS], 0, 0.0), 1500):
        question = record["question"]
        if (single := SINGLED.fullmatch(question)) and single[1] in BEST:
            found.add(single[1])
            assert record["answer"] == [BEST[single[1]][0]], question
        if pair := COMPARED.search(question):
            compared.add(pair[1])
            place, sign = DIRECTIONS[pair[1]]
            rows = [row for row in ROWS if row[0].lower() in pair.groups()]
            assert record["answer"] == [max(rows, key=lambda row: sign * row[place])[0]], question
    assert found == set(BEST)
    assert compared == set(DIRECTIONS)


def test_sums_and_averages_of_what_is_measured() -> None:
    queries = {record["sql"].split(" FROM")[0] for record in islice(records([TOWERS], 0, 0.0), 1500)}
    assert {'SELECT SUM("Price")', 'SELECT AVG("Price")', 'SELECT AVG("Height in m")'} <= queries
    assert 'SELECT SUM("Height in m")' not in queries


def test_several() -> None:
    assert of_several("was won") == "were won"
    assert of_several("that is won") == "that are won"
    assert of_several("with 5 points") == "with 5 points"


def test_a_column_of_numbers_is_renamed_to_a_measure() -> None:
    plain = replace(TOWERS, header=tuple(map(Cell, ("tower", "visits", "staff", "season", "open"))))
    tables = [replace(plain, id=f"towers-{number}") for number in range(400)]
    made = [*with_measures(tables, 0)]
    again = [*with_measures(tables[:10], 0)]
    assert made[: len(again)] == again
    assert [table for table in made if "=" not in table.id] == tables
    renamed = [table for table in made if "=" in table.id]
    assert 100 < len(renamed) < 300
    assert not any("+" in table.id for table in renamed)  # as in the ids of copies with everyday columns
    for table in renamed:
        _, _, name = table.id.partition("=")
        places = [place for place, cell in enumerate(table.header) if cell != plain.header[place]]
        assert [table.header[place].text for place in places] == [name]
        assert table.rows == plain.rows
        assert table == replace(plain, id=table.id, header=table.header)
        measured = {column.place for column in Sheet(table).columns if scale(column)}
        assert measured == {*places} <= {1, 2, 3}, name
    assert {scale(column) for table in renamed for column in Sheet(table).columns} >= {
        ("deep", "shallow"),
        ("new", "old"),
    }


def renamed_to(header: str, *numbers: float, other: str = "note") -> set[str]:
    """Return the nouns that a column of numbers is renamed to, in copies of a table."""
    body = ((f"n{row}", number, f"x{row}") for row, number in enumerate(numbers))
    rows = tuple(tuple(Cell(f"{text}") for text in line) for line in body)
    tables = [Table(f"t{n}", tuple(map(Cell, ("name", header, other))), rows) for n in range(200)]
    return {table.id.partition("=")[2].lower().split()[0] for table in with_measures(tables, 0) if "=" in table.id}


def test_numbers_become_measures_that_people_would_believe() -> None:
    crowds, goals, shares = (27_000, 31_000, 90_001), (3, 1, 40, 2), (-7.5, 3.2, 0.1)
    assert {"capacity", "population", "cost"} <= renamed_to("crowd", *crowds)
    assert renamed_to("crowd", *crowds).isdisjoint({"age", "floors", "height", "speed", "temperature", "depth"})
    assert {"age", "floors", "weight"} <= renamed_to("goals", *goals)
    assert renamed_to("goals", *goals).isdisjoint({"capacity", "population"})
    assert renamed_to("change", *shares) == {"temperature"}
    assert renamed_to("debt", -5e6, 3e6, 8e9) == set()


def test_people_have_few_measures() -> None:
    rows = tuple(tuple(map(Cell, (f"ann {row}", f"{1960 + row * row}", f"{40 - row * row}"))) for row in range(5))
    tables = [Table(f"t{n}", tuple(map(Cell, ("player", "season start", "goals"))), rows) for n in range(400)]
    found = {table.id.partition("=")[2].lower().split()[0] for table in with_measures(tables, 0) if "=" in table.id}
    assert {"born", "age", "weight"} <= found
    assert found.isdisjoint({"depth", "floors", "elevation", "area", "built", "opened", "founded"})


def test_a_renamed_heading_is_no_other_one() -> None:
    assert "time" in renamed_to("goals", 3, 1, 40)
    assert "time" not in renamed_to("goals", 3, 1, 40, other="Time (h)")
    years = renamed_to("season start", 1990, 1985, 1999)
    assert {"built", "year"} <= years
    assert "built" not in renamed_to("season start", 1990, 1985, 1999, other="date built")


def test_a_table_with_a_measure_keeps_its_headers() -> None:
    assert [*with_measures([TOWERS] * 20, 0)] == [TOWERS] * 20


def test_adjectives_measure_births_the_other_way_round() -> None:
    born = replace(TOWERS, header=tuple(map(Cell, ("player", "goals", "Time", "born", "open"))))
    columns = {column.name: column for column in Sheet(born).columns}
    assert scale(columns["born"]) == ("young", "old")
    assert scale(columns["Time"]) == ("slow", "fast")
    answers = {record["question"].strip("?"): record["answer"] for record in islice(records([born], 0, 0.0), 1500)}
    assert answers["who is the youngest player"] == ["Delta"]
    assert answers["who is the fastest"] == ["Epsilon"]


def test_how_tall_the_tallest_is() -> None:
    answers = {record["question"].strip("?"): record["answer"] for record in islice(records([TOWERS], 0, 0.0), 1500)}
    assert answers["how tall is the tallest tower"] == ["200"]
    assert answers["how expensive is the cheapest tower"] == ["20"]
