"""What cells and an operator answer, in cases that the release's vectors leave out."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.metrics.denotation import answer_texts, execute, gold_denotation, normalize_answers, same_denotation
from mate_cli.tables.amounts import plain_digits, read_amounts
from mate_cli.tables.computed import computed
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tables.user_limits import table_of


def column(*texts):
    return Table("t", (Cell("head"),), tuple((Cell(text),) for text in texts))


def all_cells(table):
    return [(row, 0) for row in range(table.num_rows)]


@pytest.mark.parametrize(
    ("texts", "aggregation", "answer"),
    [
        (("3", "4,000"), "SUM", ("4003",)),
        (("0.1", "0.2"), "SUM", ("0.3",)),
        (("1", "2"), "AVERAGE", ("1.5",)),
        (("1", "2,000"), "DIFFERENCE", ("1999",)),
        (("7",), "DIFFERENCE", ("7",)),  # as users see it
        (("1", "1", "2"), "AVERAGE", ("1.333333333",)),
        (("-1", "1"), "SUM", ("0",)),
        (("a", "b", "c"), "COUNT", ("3",)),
        ((), "COUNT", ("0",)),
        ((), "SUM", ()),
        (("1", "Two"), "SUM", ("1", "Two")),  # no numbers, no sum
        (("1,200", "B"), "NONE", ("1,200", "B")),  # the table's own words
        (("1e300", "1e300"), "SUM", ("2e+300",)),
    ],
)
def test_answers_for_scores(texts, aggregation, answer):
    table = column(*texts)
    assert answer_texts(table, all_cells(table), aggregation) == answer


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6))
def test_operators_do_what_they_are_called(numbers):
    table = column(*map(str, numbers))
    cells = all_cells(table)
    assert execute(table, cells, "SUM") == (sum(numbers),)
    assert execute(table, cells, "AVERAGE") == (pytest.approx(np.mean(numbers)),)
    assert execute(table, cells, "COUNT") == (len(numbers),)
    assert execute(table, cells, "NONE") == tuple(numbers)


AMOUNTS = st.sampled_from(["$1,200", "$300", "($30)", "7½", "1.5", "0", "", "n/a", "-4"])


@given(st.lists(AMOUNTS, min_size=1, max_size=6), st.sampled_from(["SUM", "AVERAGE", "DIFFERENCE", "COUNT", "NONE"]))
def test_a_users_own_table_is_scored_as_it_is_answered(texts, aggregation):
    table = table_of(Path("own.csv"), ["head"], [[text] for text in texts])
    cells = all_cells(table)
    answer = computed(table, cells, aggregation)
    if answer.formula is not None:
        assert answer_texts(table, cells, aggregation) == answer.answer
        assert execute(table, cells, aggregation) == (float(answer.answer[0]),)
    else:
        numbers = [read_amounts([text]).numbers for text in texts]
        plain = tuple(plain_digits(*n) if n else text for n, text in zip(numbers, texts, strict=True))
        assert answer_texts(table, cells, aggregation) == plain


def test_a_column_with_many_words_is_read_as_the_release_does():
    table = table_of(Path("own.csv"), ["head"], [["$5"], ["7"], ["red"], ["blue"]])
    assert [cell.number for (cell,) in table.rows] == [None] * 4
    assert answer_texts(table, [(0, 0), (1, 0)], "NONE") == ("$5", "7")
    assert answer_texts(table, [(0, 0), (1, 0)], "SUM") == ("$5", "7")
    assert execute(table, [(1, 0)], "SUM") == (7.0,)


def test_comparison_knows_no_order_and_32_bits():
    assert same_denotation((0.1, "b"), ("b", float(np.float32(0.1))))
    assert not same_denotation((1.0, 1.0), (1.0,))
    assert same_denotation((math.nan,), ())
    assert not same_denotation((), None)
    assert normalize_answers(["inf", 1e300]) == ["inf", "inf"]


def test_the_gold_answer_is_a_number_before_it_is_cells():
    table = column("7", "b")
    assert gold_denotation(Example("q", "", table, ("7",), candidates=((1, 0),), value=7.0)) == (7.0,)
    assert gold_denotation(Example("q", "", table, ("B",), candidates=((1, 0),))) == ("b",)
    assert gold_denotation(Example("q", "", table, ("c",))) is None
