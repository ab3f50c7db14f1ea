"""Made questions say what they mean: one column, one row, one order, and nothing that is known already."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import Any

from mate_cli.tables.queries.generate import records
from mate_cli.tables.table import Table
from tests.tables.made_tables import made_table
from tests.tables.test_queries import table_of


def made_of(*tables: Table, conversations: float = 0.0, number: int = 1500) -> list[dict[str, Any]]:
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
