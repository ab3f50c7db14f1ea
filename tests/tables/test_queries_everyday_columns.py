"""Columns that tables of Wikipedia seldom have (yes and no, days, people, codes), and questions about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from mate_cli.tables.amounts import numbered_cells
from mate_cli.tables.queries.everyday_columns import _KINDS, AMOUNTS, with_everyday_columns
from mate_cli.tables.queries.generate import records
from mate_cli.tables.queries.headers import singular
from mate_cli.tables.queries.scales import BEGINNINGS
from mate_cli.tables.queries.sheet import CODES, ColumnType, Sheet, TypedColumn
from mate_cli.tables.queries.verbs import OF_PERSONS, OF_THINGS
from mate_cli.tables.queries.words import KINDS, POSSESSIONS, QUALITIES, is_flag
from mate_cli.tables.table import Table
from mate_cli.tables.user_table import read_table
from tests.tables.made_tables import made_table
from tests.tables.test_queries import table_of

TABLES = [made_table(number) for number in range(200)]
MADE = [*with_everyday_columns(TABLES, 0)]
ORIGINAL = {table.id: table for table in TABLES}
WIDER = [table for table in MADE if "+" in table.id]


def added(table: Table) -> list[int]:
    """Return the places of the columns that a table has and its original has not."""
    new = table.id.split("+")[1:]
    before = [cell.text for cell in ORIGINAL[table.id.partition("+")[0]].header]
    names = [cell.text for cell in table.header]
    return [place for place, name in enumerate(names) if name.lower() in new and name not in before]


def test_some_tables_get_a_copy_with_up_to_three_columns_more() -> None:
    assert [table for table in MADE if "+" not in table.id] == TABLES
    assert MADE[:20] == [*with_everyday_columns(TABLES[:20], 0)][:20]
    assert 120 < len(WIDER) < 160  # seven tenths
    for table in WIDER:
        places, (original, *names) = added(table), table.id.split("+")
        others = [column for column in range(table.num_columns) if column not in places]
        before, after = ORIGINAL[original], table.selected(range(table.num_rows), others)
        days = {column.place: column.keys for column in Sheet(before).columns if column.kind is ColumnType.DATE}
        assert days.items() <= {column.place: column.keys for column in Sheet(after).columns}.items()
        assert all(
            cell == own or place in days
            for row, own_row in zip(after.rows, before.rows, strict=True)
            for place, (cell, own) in enumerate(zip(row, own_row, strict=True))
        )
        assert sorted(table.header[place].text.lower() for place in places) == sorted(names)
    assert {len(added(table)) for table in WIDER} == {1, 2, 3}


def kind_of(column: TypedColumn) -> str:
    """Name what an added column has, and check its cells."""
    name = column.name.lower()
    if name in BEGINNINGS or name == "date":
        assert column.kind is ColumnType.DATE
        assert all(1980 <= date.fromisoformat(str(key)).year < 2026 for key in column.keys)
        return "days"
    if name in AMOUNTS:
        assert column.kind is ColumnType.NUMBER
        assert column.adds_up
        return "amounts"
    if name in OF_THINGS + OF_PERSONS:
        assert column.kind is ColumnType.TEXT
        assert all(re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", text) for text in column.texts)
        return "people"
    if name in KINDS:
        assert {singular(str(key)) for key in column.keys} <= {kind for kinds in _KINDS for kind in kinds}
        return "kinds"
    if name in CODES:
        assert column.distinct == 1
        assert [*column.texts] == sorted(column.texts, key=lambda text: int(re.sub(r"\D", "", text)))
        return "codes"
    assert name in QUALITIES + POSSESSIONS
    assert is_flag(column)
    assert None not in column.keys or {*column.keys} == {"x", None}
    return "flags"


def test_the_column_has_cells_of_one_kind_and_is_not_what_tells_rows_apart() -> None:
    found = Counter()
    for table in WIDER:
        sheet = Sheet(table)
        columns = [column for column in sheet.columns if column.place in added(table)]
        assert len(columns) == len(added(table))
        found.update(map(kind_of, columns))
        before = Sheet(ORIGINAL[table.id.partition("+")[0]]).subject
        assert before is not None
        assert sheet.subject is not None
        assert sheet.subject.name == before.name
    assert {*found} == {"flags", "days", "people", "codes", "amounts", "kinds"}
    assert min(found.values()) > 4


def test_people_are_no_buildings() -> None:
    people = table_of("player|goals", *(f"ann {n}|{n * n}" for n in range(5)))
    tables = [Table(f"t{n}", people.header, people.rows) for n in range(300)]
    found = {name for table in with_everyday_columns(tables, 0) for name in table.id.split("+")[1:]}
    assert {"joined", "insured", "salary"} <= found
    assert found.isdisjoint({"pool", "built", "for sale", "museum"})


def test_a_header_is_not_given_twice_and_the_largest_tables_stay() -> None:
    opened = [Table(f"t{n}", *_parts("town|date opened|pool", 5)) for n in range(300)]
    names = {name for table in with_everyday_columns(opened, 0) for name in table.id.split("+")[1:]}
    assert names
    assert names.isdisjoint({"opened", "pool"})
    large = [Table(f"t{n}", *_parts("town|note", 500)) for n in range(50)]
    assert [*with_everyday_columns(large, 0)] == large


def _parts(header: str, rows: int) -> tuple[Any, Any]:
    table = table_of(header, *("|".join(f"x{row} {n}" for n in range(header.count("|") + 1)) for row in range(rows)))
    return table.header, table.rows


ORDERS = table_of(
    "order|customer|placed|amount",
    "oak|Nadia Brandt|3/14/2023|$1,250.00",
    "elm|Tom Okafor|11/2/2022|$89.50",
    "ash|Ines Duarte|1/30/2024|$640.00",
    "fir|Jonas Falk|7/19/2021|$2,310.75",
    "yew|Nadia Brandt|2/8/2024|$2.5M",
)


def everyday(table: Table) -> Table:
    """Return a table as a user's own is read."""
    texts = [[cell.text for cell in row] for row in table.rows]
    return Table(table.id, table.header, numbered_cells(texts), everyday=True)


def test_dates_and_money_are_read_as_in_a_users_own_table(tmp_path: Path) -> None:
    _, _, placed, amount = Sheet(everyday(ORDERS)).columns
    assert placed.keys == ("2023-03-14", "2022-11-02", "2024-01-30", "2021-07-19", "2024-02-08")
    assert amount.keys == (1250, 89.5, 640, 2310.75, 2_500_000)
    assert amount.adds_up
    assert [column.kind for column in Sheet(ORDERS).columns[2:]] == [ColumnType.TEXT, ColumnType.TEXT]
    (tmp_path / "orders.csv").write_text("\n".join(["amount", '"$1,250.00"', "$2.5M"]))
    cells = read_table(tmp_path / "orders.csv").rows
    assert [row[0].number for row in cells] == [1250, 2_500_000]


@pytest.mark.parametrize(
    ("pattern", "sql"),
    [
        (r"^(what|which) is the largest order\b(?! [a-z])", r'SELECT "order" .*SELECT MAX\("amount"\)'),
        (r"^who ordered (oak|elm|ash|fir|yew)\b(?! or)", r'SELECT "customer" FROM t WHERE "order" = '),
        (r"\$2 million", '"amount" [<>]=? 2000000'),
        (r"placed after 2022", "\"placed\" > '2022-12-31'"),
        (r"^what is the total amount of orders? .*nadia brandt", r'SELECT SUM\("amount"\)'),
        (r"was placed last", r'SELECT MAX\("placed"\)'),
        (r"^(what|which) is the most recent order\b(?! [a-z])", r'SELECT "order" .*SELECT MAX\("placed"\)'),
    ],
)
def test_orders_are_asked_about_as_people_do(pattern: str, sql: str) -> None:
    check_said(islice(records([everyday(ORDERS)], 0, 0.2), 3000), pattern, sql)


HOTELS = table_of(
    "hotel|price|pool|open in winter|opened",
    "Linden|120|yes|no|1999-03-01",
    "Mia|75|no|no|2003-07-15",
    "Azul|140|yes|yes|2003-11-30",
    "Sol|95|no|yes|2008-01-20",
    "Mill|110|yes|no|2011-05-05",
    "Fjord|210|yes|yes|2014-09-09",
)


@cache
def made_of(number: int = 3000) -> list[dict[str, Any]]:
    return [*islice(records([HOTELS], 0, 0.2), number)]


@pytest.mark.parametrize(
    ("pattern", "condition"),
    [
        (r"(which|how many) hotels? (have|has|with) a pool", r"\"pool\" (= 'yes'|!= 'no')"),
        (r"(have|has) no pool|without a pool", r"\"pool\" (= 'no'|!= 'yes')"),
        (r"(is|are) open in winter", r"\"open in winter\" (= 'yes'|!= 'no')"),
        (r"(is|are) not open in winter", r"\"open in winter\" (= 'no'|!= 'yes')"),
        (r"opened in \d{4}\b(?!-)", r"\"opened\" LIKE '\d{4}-__-__'"),
        (r"opened in (?!or )[a-z]+\b", r"\"opened\" LIKE '(____|\d{4})-\d\d-__'"),
        (r"opened (first|last) (with a pool|without a pool|in \d{4})", r'SELECT M(IN|AX)\("opened"\) FROM t WHERE'),
        (r"when was the first hotel", r'^SELECT "opened" .*SELECT MIN\("opened"\) FROM t WHERE'),
        (r"opened after \d{4}\b(?!-)", r"\"opened\" > '\d{4}-12-31'"),
        (r"opened before \d{4}\b(?!-)", r"\"opened\" < '\d{4}-01-01'"),
        (r"opened last", r'SELECT MAX\("opened"\)'),
        (r"opened between \d{4} and \d{4}", r"BETWEEN '\d{4}-01-01' AND '\d{4}-12-31'"),
        (r"a price between \S+ and \S+", r"\"price\" BETWEEN \d+ AND \d+"),
        (r"opened first", r'SELECT MIN\("opened"\)'),
        (r"(which|what) is the cheapest hotel (with a pool|that is open)", r'MIN\("price"\) FROM t WHERE'),
    ],
)
def test_conditions_are_said_as_people_say_them(pattern: str, condition: str) -> None:
    check_said(made_of(), pattern, condition)


def check_said(made: Iterable[dict[str, Any]], pattern: str, sql: str) -> None:
    """Check that some questions have a pattern, and that the query of each of them has ``sql``."""
    said = [record for record in made if re.search(pattern, record["question"])]
    assert said
    assert [record["question"] for record in said if not re.search(sql, record["sql"])] == []


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


TREES = table_of(
    "tag|tree|street|planted|owner|director|price",
    "K-101|hornbeam|mill lane|1988|ada falk|jon ito|120",
    "K-104|ginkgo|abbey square|2006|mo weber|jon ito|75",
    "K-109|plane|school hill|1902|ada falk|tess marsh|240",
    "K-115|rowan|canal walk|2015|uma sato|per novak|45",
    "K-118|silver lime|high street|1967|mo weber|per novak|95",
)


@cache
def made_of_trees() -> list[dict[str, Any]]:
    return [*islice(records([TREES], 0, 0.2), 6000)]


@pytest.mark.parametrize(
    ("pattern", "sql"),
    [
        (r"^who owns (a |the )?(hornbeam|ginkgo|plane|rowan|(silver )?lime)", r'SELECT "owner" FROM t WHERE "tree" = '),
        (r"^who directed ", r'SELECT "director" FROM t WHERE "tree" = '),
        (r"^which trees? .*owned by (ada falk|mo weber|uma sato)", r'SELECT "tree" FROM t WHERE .*"owner" = '),
        (r"^(which|what) trees? does \w+( \w+)? own\b", r'SELECT "tree" FROM t WHERE "owner" = '),
        (r"^where is ", r'SELECT "street" FROM t WHERE "tree" = '),
        (r"^(how much does|what does) \w+( \w+)? cost", r'SELECT "price" FROM t WHERE "tree" = '),
    ],
)
def test_verbs_name_columns(pattern: str, sql: str) -> None:
    check_said(made_of_trees(), pattern, f"^{sql}")


def test_half_of_the_look_ups_prefer_columns_that_a_verb_asks_for() -> None:
    asked = [r["sql"].split()[1] for r in islice(records([TREES], 0, 0.0), 3000) if r["kind"] == "look-up"]
    counts = Counter(asked)
    assert {*counts} == {'"tag"', '"street"', '"planted"', '"owner"', '"director"', '"price"'}
    assert counts['"owner"'] > 1.5 * counts['"tag"']


def test_what_is_due_at_a_time_is_asked_so() -> None:
    bills = table_of("bill|due", "oak|2011-02-14", "elm|2011-03-21", "ash|2012-04-04", "fir|2013-03-20")
    asked = [*islice(records([bills], 0, 0.0), 800)]
    assert [r["sql"] for r in asked if r["question"].startswith("when is oak due")] == [
        """SELECT "due" FROM t WHERE "bill" = 'oak'"""
    ]
    assert any("is due after 20" in record["question"] or "is due in 20" in record["question"] for record in asked)


def test_no_verb_names_one_of_two_columns() -> None:
    films = table_of("film|writer|author", "a ray|bo x|cy y", "dusk|di z|ed q", "east|fay w|gus v", "fire|hal u|ida t")
    asked = [record["question"] for record in islice(records([films], 0, 0.2), 1500)]
    assert not [question for question in asked if re.search("who wrote|written by", question)]


def test_codes_are_not_what_tells_rows_apart() -> None:
    subject = Sheet(TREES).subject
    assert subject is not None
    assert subject.name == "tree"
    alone = Sheet(table_of("id|goals", "K-1|3", "K-2|4", "K-5|9")).subject
    assert alone is not None
    assert alone.name == "id"
