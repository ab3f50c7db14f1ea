"""Questions whose answer is taken out of the table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mate_cli.tables.answer_rows import without_answer
from mate_cli.tables.table import Cell, Example, Table

ROWS = (("Ann", "Oslo"), ("Ben", "Turin"), ("Cy", "oslo"), ("Oslo", "Porto"))
TABLE = Table("t", (Cell("name"), Cell("office")), tuple((Cell(a), Cell(b)) for a, b in ROWS))
ASKED = Example("q", "where is Ann?", TABLE, ("Oslo",), candidates=((0, 1),), previous=((1, 0), (2, 1), (3, 0)))


def test_every_row_with_a_text_of_the_answer_in_its_column_goes():
    made = without_answer(ASKED)
    assert [[cell.text for cell in row] for row in made.table.rows] == [["Ben", "Turin"], ["Oslo", "Porto"]]
    assert (made.id, made.question, made.table.header) == (ASKED.id, ASKED.question, TABLE.header)
    assert made.previous == ((0, 0), (1, 0))  # of the answer before, what is left, in its new rows
    assert (made.answers, made.candidates, made.value) == ((), (), None)


@pytest.mark.parametrize(
    "example",
    [
        replace(ASKED, candidates=()),
        replace(ASKED, operator="COUNT"),
        replace(ASKED, candidates=tuple((row, 1) for row in range(4))),
    ],
)
def test_computed_and_unknown_answers_and_those_of_all_rows_give_no_question(example):
    assert without_answer(example) is None


def test_an_operator_that_computes_nothing_is_none():
    assert without_answer(replace(ASKED, operator="NONE")).table.num_rows == 2
