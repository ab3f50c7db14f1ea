"""Synthetic statements on random tables: their labels against an evaluation that goes another way."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.tables.statements.grammar import (
    Aggregation,
    Comparator,
    Condition,
    Constant,
    Query,
    Statement,
    compare,
    evaluate,
    format_number,
    holds,
)
from mate_cli.tables.statements.splits import shards
from mate_cli.tables.statements.synthesis import Chances, Synthesizer
from mate_cli.tables.table import Cell, Table

NUMBERS = {"0": 0, "7": 7, "-3": -3, "2.5": Fraction(5, 2), "1,250": 1250, "0.75": Fraction(3, 4), "1250": 1250}
WORDS = ("red", "Blue sky", "12 May", "n/a", "")
SIZES = st.tuples(st.integers(1, 6), st.integers(1, 4))


@st.composite
def tables(draw):
    """Columns of numbers, of words and of both, some with the same head or none."""
    rows, columns = draw(SIZES)
    texts = [draw(st.sampled_from([tuple(NUMBERS), WORDS, (*NUMBERS, *WORDS)])) for _ in range(columns)]
    header = [draw(st.sampled_from([f"Column {place}", "Same", "?"])) for place in range(columns)]
    body = [[draw(st.sampled_from(own)) for own in texts] for _ in range(rows)]
    return Table("random", tuple(map(Cell, header)), tuple(tuple(map(Cell, row)) for row in body))


def truth(statement, table):
    """Whether a statement is true, row by row and in exact fractions; None where something does not work out."""
    try:
        left, right = (meant(side, table) for side in (statement.left, statement.right))
        return related(left, statement.comparator, right)
    except (KeyError, ValueError, ZeroDivisionError, IndexError):
        return None


def meant(side, table):
    if isinstance(side, Constant):
        return set(side.values)
    rows = []
    for row in table.rows:
        cells = {}
        for head, cell in zip(table.header, row, strict=True):
            cells.setdefault(head.text, []).append(cell.text)
        record = {name: own[0] for name, own in cells.items() if len(own) == 1}
        verdicts = [related({record[c.column]}, c.comparator, {c.value}) for c in side.conditions]
        rows.append((record, all(verdicts)))
    chosen = [record for record, met in rows if met]
    if side.aggregation is Aggregation.COUNT:
        return {str(len(chosen) / (len(chosen) > 0)).removesuffix(".0")}
    texts = [record[side.column] for record in chosen]
    if side.aggregation is Aggregation.NONE:
        return {texts[0], *texts}
    _ = texts[1]
    if side.aggregation in (Aggregation.FIRST, Aggregation.LAST):
        return {texts[0 if side.aggregation is Aggregation.FIRST else -1]}
    values = [NUMBERS[text] for text in texts]
    ranked = sorted(range(len(texts)), key=lambda place: (values[place], place))
    greatest = min(place for place in ranked if values[place] == max(values))
    return {
        Aggregation.LOWEST: {texts[ranked[0]]},
        Aggregation.GREATEST: {texts[greatest]},
        Aggregation.SUM: {written(sum(values))},
        Aggregation.AVERAGE: {written(Fraction(sum(values)) / len(values))},
        Aggregation.RANGE: {written(values[ranked[-1]] - values[ranked[0]])},
    }[side.aggregation]


def related(left, comparator, right):
    if comparator is Comparator.EQUALS:
        return left == right
    pairs = [(number(a), number(b)) for a, b in product(left, right)]
    return all(a > b if comparator is Comparator.GREATER else a < b for a, b in pairs)


def number(text):
    """The number of a cell, or of what was written for one."""
    return NUMBERS[text] if text in NUMBERS else Fraction(text)


def written(value):
    return str(value) if Fraction(value).denominator == 1 else f"{float(value):.2f}"


@st.composite
def queries(draw, table):
    """Any query, sensible or not."""
    columns = st.sampled_from([*(head.text for head in table.header), "nowhere"])
    values = st.sampled_from([cell.text for row in table.rows for cell in row])
    condition = st.builds(Condition, columns, st.sampled_from(Comparator), values)
    kind = draw(st.sampled_from(Aggregation))
    column = "" if kind is Aggregation.COUNT else draw(columns)
    return Query(kind, column, tuple(draw(st.lists(condition, max_size=2))))


@given(st.data())
def test_any_statement_is_as_true_as_row_by_row(data):
    table = data.draw(tables())
    left, right = data.draw(queries(table)), data.draw(queries(table))
    statement = Statement(left, data.draw(st.sampled_from(Comparator)), right)
    assert holds(statement, table) is truth(statement, table)


@settings(max_examples=60)
@given(tables(), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.02, 0.9]))
def test_a_drawn_statement_is_what_it_is_asked_to_be(table, seed, label, count):
    synthesizer = Synthesizer(table, np.random.RandomState(seed), Chances(count=count, attempts=20))
    statement = synthesizer.statement(label)
    again = Synthesizer(table, np.random.RandomState(seed), Chances(count=count, attempts=20)).statement(label)
    assert statement == again
    if statement is not None:
        assert truth(statement, table) is label
        assert statement.left != statement.right
        assert not (isinstance(statement.left, Constant) and isinstance(statement.right, Constant))
        assert "  " not in f" {statement} "  # nothing is left out
        other = synthesizer.opposite(statement)
        if other is not None:
            assert truth(statement, other) is (not label)
            columns = [[sorted(cell.text for cell in own) for own in zip(*t.rows, strict=True)] for t in (table, other)]
            assert columns[0] == columns[1]


def test_two_ways_to_write_a_number_are_not_called_different():
    table = Table("t", (Cell("a"), Cell("b")), tuple((Cell(x), Cell(y)) for x, y in (("1,250", "7"), ("1250", "7"))))
    assert (
        holds(Statement(Query(Aggregation.FIRST, "a"), Comparator.EQUALS, Query(Aggregation.LAST, "a")), table) is False
    )
    for seed in range(30):
        drawn = Synthesizer(table, np.random.RandomState(seed)).statement(False)
        if drawn is not None and drawn.comparator is Comparator.EQUALS:
            sides = (drawn.left, drawn.right)
            assert {float(v.replace(",", "")) for v in evaluate(sides[0], table)} != {
                float(v.replace(",", "")) for v in evaluate(sides[1], table)
            }


def test_every_kind_of_statement_is_drawn_and_half_of_them_are_true():
    cells = [(str(place), f"name {place % 5}", f"{place * 3 % 7}") for place in range(8)]
    table = Table("t", tuple(map(Cell, ("Rank", "Name", "Points"))), tuple(tuple(map(Cell, row)) for row in cells))
    drawn = [
        Synthesizer(table, np.random.RandomState(seed), Chances(count=0.1)).statement(seed % 2 == 0)
        for seed in range(120)
    ]
    sides = [side for own in drawn if own for side in (own.left, own.right)]
    kinds = {side.aggregation for side in sides if isinstance(side, Query)}
    assert kinds == set(Aggregation)
    assert {own.comparator for own in drawn if own} == set(Comparator)
    constants = sum(isinstance(side, Constant) for side in sides)
    assert 0.6 < constants / len(drawn) < 0.9  # left by a half, else right by a half
    assert all(side.conditions for side in sides if isinstance(side, Query))
    assert all(own is not None for own in drawn)


@pytest.mark.parametrize("size", [(1, 3), (3, 1), (0, 2), (2, 26)])
def test_what_is_too_small_or_too_wide_has_no_parts(size):
    assert shards(grid(*size)) == []


@given(st.integers(2, 130), st.integers(2, 25))
def test_parts_are_small_and_hold_every_row_once_but_single_ones(rows, columns):
    table = grid(rows, columns)
    parts = shards(table)
    assert all(part.num_rows >= 2 and part.num_rows * columns <= 50 for part in parts)
    kept = [row for part in parts for row in part.rows]
    dropped = rows - len(kept)
    assert kept == [row for row in table.rows if row in kept]
    assert dropped == 0 if columns <= 16 else dropped <= len(parts)  # three rows of 17 cells: two and one
    assert len({part.id for part in parts}) == len(parts)
    assert parts == [table] or rows * columns > 50


def grid(rows, columns):
    body = tuple(tuple(Cell(f"{row} {column}") for column in range(columns)) for row in range(rows))
    return Table("grid", tuple(Cell(str(column)) for column in range(columns)), body)


def test_numbers_that_no_arithmetic_is_exact_with_are_none():
    assert compare(["1e16"], Comparator.GREATER, ["1"]) is None
    assert compare(["nan"], Comparator.GREATER, ["1"]) is None
    assert compare(["1e15"], Comparator.GREATER, ["999,999,999,999,999"]) is True
    assert (format_number(-0.004), format_number(1e15)) == ("-0.00", "1000000000000000")
