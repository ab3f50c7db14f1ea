"""Questions about tables without the answer: SQLite finds nothing there, and examples have no cell."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path

import pytest

from mate_cli.config.task import QueriesConfig
from mate_cli.tables.queries import folder as queries
from mate_cli.tables.queries.generate import records
from mate_cli.tables.queries.unanswerable import table_without
from tests.tables.made_tables import made_table
from tests.tables.test_queries import write_tables
from tests.tables.test_queries_sql import loaded

TABLES = {table.id: table for table in map(made_table, range(40))}
MADE = list(islice(records([*TABLES.values()], seed=5, conversations=0.2, unanswerable=0.7), 2000))
ASKED_AGAIN = [record for record in MADE if record["missing"] is not None]


def test_the_other_questions_stay_as_they_are() -> None:
    others = [record for record in MADE if record["missing"] is None]
    assert others == list(islice(records([*TABLES.values()], seed=5, conversations=0.2), len(others)))


def test_each_asks_again_what_the_one_before_it_asked_of_the_whole_table() -> None:
    for before, record in pairwise(MADE):
        if record["missing"] is not None:
            assert (record["question"], record["sql"], record["table"]) == (
                before["question"],
                before["sql"],
                before["table"],
            )
            assert before["cells"]
            assert (record["cells"], record["answer"], record["operator"]) == ([], [], "NONE")
    assert {record["kind"] for record in ASKED_AGAIN} == {
        f"{kind} without answer" for kind in ("look-up", "select", "two conditions")
    }


def test_sqlite_finds_no_answer() -> None:
    lacks = {"rows": 0, "columns": 0}
    for record in ASKED_AGAIN:
        table = TABLES[record["table"]]
        (part,) = (name for name in lacks if record["missing"][name])
        lacks[part] += 1
        left = table if part == "rows" else table_without(table, record["missing"])
        with closing(loaded(left)) as database:
            if part == "rows":  # of the whole table, for a column may have another type without them
                database.executemany("DELETE FROM t WHERE rowid = ?", [(row + 1,) for row in record["missing"]["rows"]])
                assert database.execute(record["sql"]).fetchall() == []
                continue
            # SQLite takes the name of a column that is not there for a text, so it is looked for in square brackets.
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                database.execute(record["sql"].replace('SELECT "', "SELECT [", 1).replace('" FROM', "] FROM", 1))
    assert min(lacks.values()) > 20


def test_train_alone_has_them(tmp_path: Path) -> None:
    config = QueriesConfig(questions=400, dev=100, unanswerable=1.0)
    made = queries.made_folder([write_tables(tmp_path / "tables", 12)], config, tmp_path / "cache")
    train, dev = (queries.read_split(made, split).examples for split in ("train", "dev"))
    without = [example for example in train if example.answers == ()]
    assert len(without) > 20
    assert all(example.answers and example.candidates for example in dev)
    sizes = {
        example.table.id: (example.table.num_rows, example.table.num_columns) for example in train if example.answers
    }
    for example in without:
        assert (example.candidates, example.value) == ((), None)
        assert (example.table.num_rows, example.table.num_columns) < sizes[example.table.id]
