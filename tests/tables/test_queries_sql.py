"""The SQL of generated questions, executed by SQLite on the table, gives their answers."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.queries.everyday_columns import with_everyday_columns
from mate_cli.tables.queries.generate import records
from mate_cli.tables.queries.questions import QUESTIONS
from mate_cli.tables.queries.rows import (
    Beside,
    Both,
    Commonest,
    Different,
    Extreme,
    Listed,
    OneOf,
    Ranked,
    SameAs,
    Where,
)
from mate_cli.tables.queries.sheet import ColumnType, Sheet, TypedColumn
from mate_cli.tables.table import Cell, Table
from tests.tables.made_tables import made_table
from tests.tables.sqlite_tables import loaded, typed

TABLES = {table.id: table for table in with_everyday_columns([*map(made_table, range(60))], seed=3)}
QUESTIONS_MADE = list(islice(records([*TABLES.values()], seed=3, conversations=0.3), 2500))


def test_there_are_questions_of_every_kind() -> None:
    kinds = Counter(record["kind"] for record in QUESTIONS_MADE)
    assert len(QUESTIONS_MADE) == 2500
    for operator in (" LIKE ", " BETWEEN "):
        assert sum(operator in record["sql"] for record in QUESTIONS_MADE) > 10
    assert len(kinds) >= len(QUESTIONS) + 5  # some make two kinds, and there are follow-ups
    assert min(kinds.values()) >= 3


def test_sqlite_gives_the_same_answers() -> None:
    wrong = []
    for name, table in TABLES.items():
        with closing(loaded(table)) as database:
            for record in (record for record in QUESTIONS_MADE if record["table"] == name):
                result = [value for (value,) in database.execute(record["sql"])]
                if not is_same(result, record, table):
                    wrong.append((record["question"], record["sql"], result, record["answer"]))
    assert wrong == []


def is_same(result: list[Any], record: dict[str, Any], table: Table) -> bool:
    """Compare the values that SQL gives with the cells of a question, or with the number that its operator gives."""
    if record["operator"] != "NONE":
        return result == [pytest.approx(float(record["answer"][0]))]
    (place,) = {column for _, column in record["cells"]}
    values = typed([row[place].text for row in table.rows])
    return result == [values[row] for row, _ in record["cells"]]


@pytest.mark.parametrize("operator", ["COUNT", "SUM", "AVERAGE", "DIFFERENCE"])
def test_a_wrong_answer_is_noticed(operator: str) -> None:
    record = next(record for record in QUESTIONS_MADE if record["operator"] == operator)
    table = TABLES[record["table"]]
    with closing(loaded(table)) as database:
        result = [value for (value,) in database.execute(record["sql"])]
    assert is_same(result, record, table)
    assert not is_same(result, {**record, "answer": [str(2 * float(record["answer"][0]) + 1)]}, table)


@given(st.lists(st.tuples(st.sampled_from([None, 1.0, 2.0, 3.0]), st.sampled_from([None, "x", "y", "z"])), min_size=3))
def test_sqlite_finds_the_same_rows(body: list[tuple[float | None, str | None]]) -> None:
    """Also where keys are equal or missing."""
    rows = [(f"n{number}", *cells) for number, cells in enumerate(body)]
    header = tuple(Cell(name) for name in ("name", "points", "team"))
    sheet = Sheet(Table("t", header, tuple(tuple(Cell(str(cell or "")) for cell in row) for row in rows)))
    keys = [tuple(row[place] for row in rows) for place in range(3)]
    name, points, team = (
        TypedColumn(place, cell.text, ColumnType.TEXT, keys[place], ()) for place, cell in enumerate(header)
    )
    second = Where(name, "=", "n1")
    sets = [
        *(Ranked(points, highest, above) for highest in (True, False) for above in (0, 1, 2)),
        *(Extreme(Where(team, "!=", "x"), points, highest) for highest in (True, False)),
        *(kind(team) for kind in (Commonest, Different)),
        *(Listed(second, below) for below in (True, False)),
        Both(Where(points, ">", 1.0), OneOf(team, ("x", "y"))),
        Beside(second, 1),
        *([SameAs(second, team)] if rows[1][2] is not None else []),
    ]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (name, points, team)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        for rowset in sets:
            found = [row - 1 for (row,) in database.execute(f"SELECT rowid FROM t WHERE {rowset.sql} ORDER BY rowid")]
            assert rowset.numbers(sheet) == found, rowset.sql
