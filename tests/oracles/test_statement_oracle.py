"""Synthetic statements of the upstream release: what they say, and whether our executor finds them true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mate_cli.tables.statements.grammar import (
    Aggregation,
    Comparator,
    Condition,
    Constant,
    Expression,
    Query,
    Statement,
    compare,
    evaluate,
    format_number,
    holds,
)
from mate_cli.tables.table import Cell, Table

pytestmark = pytest.mark.oracles

ORACLE = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "i_synthetic_statements.json"


@pytest.fixture(scope="module")
def oracle() -> Any:
    return json.loads(ORACLE.read_text(encoding="utf-8"))


def table_of(name: str, header: list[str], rows: list[list[str]]) -> Table:
    return Table(name, tuple(map(Cell, header)), tuple(tuple(map(Cell, row)) for row in rows))


def test_every_statement_is_as_true_as_the_release_says(oracle: Any) -> None:
    confirmed = {True: 0, False: 0}
    for sample in oracle["samples"]:
        own = oracle["tables"][sample["table"]]
        for entry in sample["statements"]:
            table = table_of(sample["table"], own["header"], entry["table_rows"] or own["rows"])
            (statement,) = readings(entry["text"], table)
            assert str(statement) == entry["text"]
            assert holds(statement, table) is bool(entry["label"]), entry
            confirmed[bool(entry["label"])] += 1
    assert confirmed == {True: 168, False: 168}


def test_every_expression_stands_for_the_same(oracle: Any) -> None:
    golf = table_of("golf", **oracle["tables"]["golf"])
    assert len(oracle["expressions_golf"]) == 163
    for own in oracle["expressions_golf"]:
        conditions = (Condition(column, Comparator[name], value) for column, name, value in own["where"])
        query = Query(Aggregation[own["aggregation"]], own["column"] or "", tuple(conditions))
        assert str(query) == own["text"]
        values = evaluate(query, golf)
        assert (None if values is None else sorted(values)) == own["values"], own["text"]


def test_every_comparison_gives_the_same(oracle: Any) -> None:
    verdicts = {"TRUE": True, "FALSE": False, "ERROR": None}
    assert len(oracle["comparators"]) == 40
    for own in oracle["comparators"]:
        for comparator in Comparator:
            assert compare(own["left"], comparator, own["right"]) is verdicts[own[comparator.name]], own


def test_numbers_are_written_the_same(oracle: Any) -> None:
    for number, text in oracle["format_number"]:
        assert format_number(number) == text


def readings(text: str, table: Table) -> Iterator[Statement]:
    """Every way to read a text as a statement about a table; values are those that the table holds or numbers."""
    for left, comparator, right in parted(text):
        for own in expressions(left, table):
            for other in expressions(right, table):
                yield Statement(own, comparator, other)


def parted(text: str) -> Iterator[tuple[str, Comparator, str]]:
    for comparator in Comparator:
        words = f" {comparator.value} "
        places = (at for at in range(len(text)) if text.startswith(words, at))
        yield from ((text[:at], comparator, text[at + len(words) :]) for at in places)


def expressions(text: str, table: Table) -> Iterator[Expression]:
    selected, *conditions = text.split(" when ")
    for aggregation in Aggregation:
        for column in ("",) if aggregation is Aggregation.COUNT else (head.text for head in table.header):
            query = Query(aggregation, column)
            if str(query) == selected and len(conditions) < 2:
                read = [condition(own, table) for part in conditions for own in part.split(" and ")]
                if None not in read:
                    yield Query(aggregation, column, tuple(own for own in read if own is not None))
    cells = {cell.text for row in table.rows for cell in row}
    values = [text] if text in cells else text.split(", ")
    if all(value in cells or value.replace(".", "").isdigit() for value in values):
        yield Constant(frozenset(values))


def condition(text: str, table: Table) -> Condition | None:
    """A condition on a column, with the value of one of its cells."""
    columns = {head.text: {row[at].text for row in table.rows} for at, head in enumerate(table.header)}
    found = (Condition(*own) for own in parted(text) if own[2] in columns.get(own[0], ()))
    return next(found, None)
