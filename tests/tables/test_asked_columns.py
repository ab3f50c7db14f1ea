"""The column that a question asks for."""

from __future__ import annotations

import pytest

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.asked_columns import in_asked_column
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

TASKS = table(
    "task,team,urgent,opened,due,hours",
    *("Fix roof,Red,yes,2025-01-03,2025-02-01,4", "Sow beans,Blue,no,2025-01-09,2025-03-05,7"),
    *("Bake rolls,Red,yes,2025-02-02,2025-02-20,2", "Sand door,Blue,yes,2025-02-10,2025-04-11,9"),
)


@pytest.mark.parametrize(
    ("question", "chosen", "column"),
    [
        ("Which urgent tasks does Red have?", 2, 0),
        ("Which task of team Red takes 4 hours?", 1, 0),
        ("Who does the urgent ones?", 2, 0),
        ("Is the roof urgent?", 2, 2),
        ("Which team is it, red or blue?", 1, 1),
        ("Which team opens the roof?", 1, 1),
        ("What is Fix roof?", 0, 0),
        ("When is Fix roof due?", 3, 4),
        ("When was Fix roof opened?", 3, 3),
        ("When is it?", 3, 3),
        ("When was it opened, and when is it due?", 3, 3),
        ("When is Fix roof due?", 1, 1),
    ],
)
def test_the_column(question: str, chosen: int, column: int) -> None:
    assert in_asked_column(question, TASKS, [(0, chosen)]) == [(0, column)]


def test_rows_are_named_once_and_texts_without_names_stay() -> None:
    assert in_asked_column("Which tasks are urgent?", TASKS, [(0, 2), (0, 1), (2, 2)]) == [(0, 2), (0, 1), (2, 2)]
    assert in_asked_column("Which tasks of Red are urgent?", TASKS, [(0, 2), (0, 1), (2, 2)]) == [(0, 0), (2, 0)]
    flags = table("urgent,late", "yes,no", "no,yes", "yes,yes")
    assert in_asked_column("Which one is urgent?", flags, [(0, 0)]) == [(0, 0)]


@pytest.mark.parametrize(("operator", "column"), [("NONE", 0), ("COUNT", 2)])
def test_counts_stay_where_they_are(operator: str, column: int) -> None:
    answer = as_asked("Which tasks are urgent?", TASKS, TableAnswer("0", ((0, 2),), (0.9,), operator, 0.9))
    assert (answer.cells, answer.probabilities) == (((0, column),), (0.9,))
