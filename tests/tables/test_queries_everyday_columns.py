"""Columns of yes and no, and of days, which tables of Wikipedia seldom have, and the questions about them."""

from __future__ import annotations

import re
from datetime import date
from itertools import islice
from typing import Any

import pytest

from mate_cli.tables.queries.everyday_columns import with_everyday_columns
from mate_cli.tables.queries.generate import records
from mate_cli.tables.queries.scales import BEGINNINGS
from mate_cli.tables.queries.sheet import ColumnType, Sheet
from mate_cli.tables.queries.words import POSSESSIONS, QUALITIES, is_flag
from mate_cli.tables.table import Table
from tests.tables.made_tables import made_table
from tests.tables.test_queries import table_of

TABLES = [made_table(number) for number in range(200)]
MADE = [*with_everyday_columns(TABLES, 0)]
ORIGINAL = {table.id: table for table in TABLES}
WIDER = [table for table in MADE if "+" in table.id]


def added(table: Table) -> int:
    """Return the place of the column that a table has and its original has not."""
    before = [cell.text for cell in ORIGINAL[table.id.partition("+")[0]].header]
    names = [cell.text for cell in table.header]
    (place,) = (n for n in range(len(names)) if names[:n] + names[n + 1 :] == before and names[n] != "")
    return place


def test_some_tables_get_a_copy_with_one_column_more() -> None:
    assert [table for table in MADE if "+" not in table.id] == TABLES
    assert MADE[:20] == [*with_everyday_columns(TABLES[:20], 0)][:20]
    assert 80 < len(WIDER) < 120  # a half
    for table in WIDER:
        place, (original, _, name) = added(table), table.id.partition("+")
        others = [column for column in range(table.num_columns) if column != place]
        assert table.selected(range(table.num_rows), others).rows == ORIGINAL[original].rows
        assert table.header[place].text.lower() == name


def test_the_column_has_yes_and_no_or_days_that_training_reads() -> None:
    kinds = set()
    for table in WIDER:
        column = next(column for column in Sheet(table).columns if column.place == added(table))
        name = column.name.lower()
        if name in BEGINNINGS:
            assert column.kind is ColumnType.DATE
            assert all(1980 <= date.fromisoformat(str(key)).year < 2016 for key in column.keys)
        else:
            assert name in QUALITIES + POSSESSIONS
            assert is_flag(column)
            assert None not in column.keys
        kinds.add(name in BEGINNINGS)
    assert kinds == {True, False}


def test_people_are_no_buildings() -> None:
    people = table_of("player|goals", *(f"ann {n}|{n * n}" for n in range(5)))
    tables = [Table(f"t{n}", people.header, people.rows) for n in range(300)]
    found = {table.id.partition("+")[2] for table in with_everyday_columns(tables, 0) if "+" in table.id}
    assert {"joined", "insured"} <= found
    assert found.isdisjoint({"pool", "built", "for sale", "museum"})


def test_a_header_is_not_given_twice_and_the_largest_tables_stay() -> None:
    opened = [Table(f"t{n}", *_parts("town|date opened|pool", 5)) for n in range(300)]
    names = {table.id.partition("+")[2] for table in with_everyday_columns(opened, 0) if "+" in table.id}
    assert names
    assert names.isdisjoint({"opened", "pool"})
    large = [Table(f"t{n}", *_parts("town|note", 500)) for n in range(50)]
    assert [*with_everyday_columns(large, 0)] == large


def _parts(header: str, rows: int) -> tuple[Any, Any]:
    table = table_of(header, *("|".join(f"x{row} {n}" for n in range(header.count("|") + 1)) for row in range(rows)))
    return table.header, table.rows


HOTELS = table_of(
    "hotel|price|pool|open in winter|opened",
    "Linden|120|yes|no|1999-03-01",
    "Mia|75|no|no|2003-07-15",
    "Azul|140|yes|yes|2003-11-30",
    "Sol|95|no|yes|2008-01-20",
    "Mill|110|yes|no|2011-05-05",
    "Fjord|210|yes|yes|2014-09-09",
)


def made_of(number: int = 1500) -> list[dict[str, Any]]:
    return [*islice(records([HOTELS], 0, 0.2), number)]


@pytest.mark.parametrize(
    ("pattern", "condition"),
    [
        (r"(which|how many) hotels? (have|has|with) a pool", r"\"pool\" (= 'yes'|!= 'no')"),
        (r"(have|has) no pool|without a pool", r"\"pool\" (= 'no'|!= 'yes')"),
        (r"(is|are) open in winter", r"\"open in winter\" (= 'yes'|!= 'no')"),
        (r"(is|are) not open in winter", r"\"open in winter\" (= 'no'|!= 'yes')"),
        (r"opened in \d{4}\b(?!-)", r"\"opened\" LIKE '\d{4}-%'"),
        (r"opened after \d{4}\b(?!-)", r"\"opened\" > '\d{4}-12-31'"),
        (r"opened before \d{4}\b(?!-)", r"\"opened\" < '\d{4}-01-01'"),
        (r"opened last", r'SELECT MAX\("opened"\)'),
        (r"opened first", r'SELECT MIN\("opened"\)'),
        (r"(which|what) is the cheapest hotel (with a pool|that is open)", r'MIN\("price"\) FROM t WHERE'),
    ],
)
def test_conditions_are_said_as_people_say_them(pattern: str, condition: str) -> None:
    said = [record for record in made_of() if re.search(pattern, record["question"])]
    assert said
    assert [record["question"] for record in said if not re.search(condition, record["sql"])] == []


def test_yes_and_no_answer_whether_a_row_has_something() -> None:
    asked = [r for r in made_of() if re.match(r"(is|was|does) ", r["question"]) and r["kind"] == "look-up"]
    assert {text for record in asked for text in record["answer"]} == {"yes", "no"}
    assert any(re.search(r"^(is|was) \w+ open in winter", record["question"]) for record in asked)
    assert any("have a pool" in record["question"] for record in asked)


def test_yes_and_no_are_not_asked_for_otherwise() -> None:
    for record in made_of():
        assert not re.search(r"\b(yes|no(?! pool| more))\b", record["question"])
        if record["kind"] in ("most frequent", "count of values", "same as", "select", "follow-up: beside"):
            assert not re.match(r'SELECT (COUNT\()?"(pool|open in winter)"', record["sql"]), record["question"]
