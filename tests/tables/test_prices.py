"""The amounts that verbs of money ask for: "what do the Stihl tools cost on average?"."""

from __future__ import annotations

import pytest

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.aggregation import NONE, operator_named
from mate_cli.tables.prices import asked_amounts
from mate_cli.tables.table import Table
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

TOOLS = table("tool,brand,daily fee,deposit", "Drill,Bosch,18.00,100", "Saw,Stihl,29.00,200", "Trimmer,Stihl,19.50,120")
STAFF = table("name,role,pay (CHF),since", "Lea,designer,5200,2018", "Omar,developer,6800,2016")


@pytest.mark.parametrize(
    ("question", "operator"),
    [
        ("What do the Stihl tools cost?", "NONE"),
        ("What do the Stihl tools cost on average?", "AVERAGE"),
        ("How much do the Saw and the Trimmer cost together?", "SUM"),
        ("what will both cost in total", "SUM"),
    ],
)
def test_what_things_cost_is_in_the_column_of_prices(question: str, operator: str) -> None:
    found = asked_amounts(question, TOOLS, [(1, 0), (2, 0), (1, 1)])
    assert found == ([(1, 2), (2, 2)], operator_named(operator))


def test_one_amount_is_a_cell_even_on_average() -> None:
    assert asked_amounts("What do saws cost on average?", TOOLS, [(1, 0)]) == ([(1, 2)], NONE)
    assert asked_amounts("What does Omar earn?", STAFF, [(1, 1)]) == ([(1, 2)], NONE)


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("Which tools cost the most?", TOOLS),
        ("How much does the Saw cost more than the Trimmer?", TOOLS),
        ("What is the cost of the Saw?", TOOLS),
        ("What do the Stihl tools earn?", TOOLS),  # no pay
        ("What does the Saw cost?", STAFF),  # no prices
        ("What does it cost?", table("tool,price,cost", "Saw,7,5")),  # two columns
        ("What does it cost?", table("tool,price", "Saw,cheap", "Drill,dear")),
    ],
)
def test_other_questions_and_tables_have_no_such_amounts(question: str, columns: Table) -> None:
    assert asked_amounts(question, columns, [(0, 0)]) is None


def test_without_cells_there_are_no_amounts() -> None:
    assert asked_amounts("What does the Saw cost?", TOOLS, []) is None


def test_the_answer_is_as_sure_as_its_least_sure_cell() -> None:
    listed = TableAnswer("q", ((1, 0), (2, 0)), (0.9, 0.6), "NONE", 0.8)
    given = as_asked("What do the Stihl tools cost on average?", TOOLS, listed)
    assert (given.cells, given.probabilities, given.aggregation) == (((1, 2), (2, 2)), (0.6, 0.6), "AVERAGE")
