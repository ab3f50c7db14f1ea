"""SQA's and TabFact's accuracies, and rules without training, on tables of a few cells."""

from __future__ import annotations

import numpy as np

from mate_cli.metrics.baselines import SEQUENCE_RULES, answer_by_rule, answers_without_reading
from mate_cli.metrics.sqa import sequence_scores
from mate_cli.metrics.tabfact import right_by_group
from mate_cli.tables.table import Cell, Example, Table

ROWS = tuple(tuple(Cell(f"{name}{row}") for name in "abc") for row in range(4))
TABLE = Table("t", (Cell("Team"), Cell("Home City"), Cell("Points")), ROWS)


def turn(conversation, position, cells, question="", previous=(), answers=("x",)):
    return Example(
        f"{conversation}_{position}",
        question,
        TABLE,
        answers,
        candidates=cells,
        conversation=conversation,
        position=position,
        previous=previous,
    )


def test_questions_sequences_and_positions():
    examples = [
        turn("b-0", 0, ((0, 0),)),
        turn("a-0", 0, ((0, 0), (1, 0))),
        turn("a-0", 1, ((2, 1),)),
        turn("b-0", 1, ((3, 2),)),
        turn("b-0", 2, ((3, 2),)),
        turn("c-0", 0, ((3, 2),), answers=None),
    ]
    answers = {"b-0_0": [(0, 0)], "a-0_0": [(1, 0), (0, 0), (0, 0)], "a-0_1": {(2, 1)}, "b-0_1": [(3, 2), (0, 0)]}
    scores = sequence_scores(examples, answers)
    assert scores.questions.tolist() == [True, True, True, False, False]
    assert scores.conversation.tolist() == [0, 1, 1, 0, 0]
    assert scores.sequences.tolist() == [False, True]
    assert {place: values.tolist() for place, values in scores.by_position.items()} == {
        0: [True, True],
        1: [True, False],
        2: [False],
    }


def test_a_rule_looks_back_at_its_own_answers_or_at_the_right_ones():
    examples = [
        turn("a-0", 1, ((2, 1),), "in which home city?", previous=((2, 0), (3, 0))),
        turn("a-0", 0, ((2, 0), (3, 0)), "which team?"),
    ]
    rule = SEQUENCE_RULES["named column, rows before"]
    assert answer_by_rule(examples, rule, gold_history=True) == {
        "a-0_1": {(2, 1), (3, 1)},
        "a-0_0": {(row, 0) for row in range(4)},
    }
    assert answer_by_rule(examples, rule, gold_history=False)["a-0_1"] == {(row, 1) for row in range(4)}
    first_row = SEQUENCE_RULES["named column, first row before"]
    assert answer_by_rule(examples, first_row, gold_history=True)["a-0_1"] == {(2, 1)}
    assert answer_by_rule(examples, first_row, gold_history=False)["a-0_1"] == {(0, 1)}
    answers = {name: answer_by_rule(examples, rule, False)["a-0_1"] for name, rule in SEQUENCE_RULES.items()}
    assert answers["first cell"] == {(0, 0)}
    assert answers["first column"] == {(row, 0) for row in range(4)}
    assert answers["named column"] == {(row, 1) for row in range(4)}


def test_a_table_without_rows_breaks_no_rule():
    example = Example("q", "team", Table("t", (Cell("Team"),), ()), ("x",), conversation="a-0")
    assert all(answer_by_rule([example], rule, False) == {"q": set()} for rule in SEQUENCE_RULES.values())
    assert answers_without_reading([example])["first cell"] == {"q": ()}


def test_answers_without_reading_the_question():
    answers = answers_without_reading([turn("a-0", 0, ())])
    assert {name: texts["a-0_0"] for name, texts in answers.items()} == {
        "empty answer": (),
        "first cell": ("a0",),
        "number of rows": ("4",),
        "always 3": ("3",),
        "always 2": ("2",),
    }


def test_statements_by_group():
    labels = [("p", 1, ("simple", "small")), ("q", 0, ("simple",)), ("r", 1, ()), ("s", None, ("complex",))]
    examples = [Example(name, "", TABLE, label=label, groups=groups) for name, label, groups in labels]
    right = right_by_group(examples, {"p": 1, "q": 1, "s": 0})
    assert {name: values.tolist() for name, values in right.items()} == {
        "all": [True, False, False],
        "simple": [True, False],
        "small": [True],
    }
    assert all(values.dtype == np.bool_ for values in right.values())
