"""Answers by rules that need no training, to stand beside models that answer from the cells of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from mate_cli.tables.table import Coordinate, Example

Rule = Callable[[Example, Collection[Coordinate]], set[Coordinate]]
"""The cells for a question of a conversation, and those that answered the question before it, if there are some."""

COMMON_ANSWERS = ("3", "2")
"""The most frequent answers of WikiTableQuestions' training split."""

_WORDS = re.compile(r"\w+")


def first_cell(example: Example, previous: Collection[Coordinate]) -> set[Coordinate]:
    return {(0, 0)} if example.table.rows else set()


def first_column(example: Example, previous: Collection[Coordinate]) -> set[Coordinate]:
    return _cells(range(example.table.num_rows), 0)


def named_column(example: Example, previous: Collection[Coordinate]) -> set[Coordinate]:
    """All cells of the column whose header has most words in common with the question, of equals the first."""
    return _cells(range(example.table.num_rows), _named(example))


def named_column_of_previous_rows(example: Example, previous: Collection[Coordinate]) -> set[Coordinate]:
    """The cells of that column in the rows of the answer before; of all rows where there is none."""
    return _cells({row for row, _ in previous} or range(example.table.num_rows), _named(example))


def named_column_of_first_row_before(example: Example, previous: Collection[Coordinate]) -> set[Coordinate]:
    """The cell of that column in the first row of the answer before; all of the column where there is none."""
    return _cells({min(previous)[0]} if previous else range(example.table.num_rows), _named(example))


SEQUENCE_RULES: dict[str, Rule] = {
    "first cell": first_cell,
    "first column": first_column,
    "named column": named_column,
    "named column, rows before": named_column_of_previous_rows,
    "named column, first row before": named_column_of_first_row_before,
}
"""Rules for conversations; the last two look back."""


def answer_by_rule(examples: Sequence[Example], rule: Rule, gold_history: bool) -> dict[str, set[Coordinate]]:
    """The cells of each question by id.

    Args:
        gold_history: the answers before are the right ones; else what the rule itself answered.
    """
    found: dict[tuple[str, int], set[Coordinate]] = {}
    for example in sorted(examples, key=lambda own: own.position):
        own = found.get((example.conversation, example.position - 1), set())
        found[example.conversation, example.position] = rule(example, example.previous if gold_history else own)
    return {example.id: found[example.conversation, example.position] for example in examples}


def answers_without_reading(examples: Sequence[Example]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Answer texts by the name of a rule that does not read the question, and by question id."""
    rules: dict[str, Callable[[Example], tuple[str, ...]]] = {
        "empty answer": lambda example: (),
        "first cell": lambda example: tuple(row[0].text for row in example.table.rows[:1]),
        "number of rows": lambda example: (str(example.table.num_rows),),
    }
    found = {name: {example.id: rule(example) for example in examples} for name, rule in rules.items()}
    return found | {f"always {text}": {example.id: (text,) for example in examples} for text in COMMON_ANSWERS}


def _cells(rows: Collection[int], column: int) -> set[Coordinate]:
    return {(row, column) for row in rows}


def _named(example: Example) -> int:
    words = set(_WORDS.findall(example.question.lower()))
    shared = [len(words & set(_WORDS.findall(cell.text.lower()))) for cell in example.table.header]
    return shared.index(max(shared)) if shared else 0
