"""The reports of SQA, WikiTableQuestions and TabFact: the figures that they must show, counted by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from mate_cli.config.inference import ALL_ROWS, CHOSEN_ROWS
from mate_cli.kinds.entailment import EntailmentEvaluation
from mate_cli.kinds.table_qa import DenotationEvaluation, SequenceEvaluation, evaluate
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tasks.entailment import Entailment
from mate_cli.tasks.table_qa import TableAnswer

NUMBERS = ("10", "20", "30", "40")
TABLE = Table(
    "t", (Cell("Team"), Cell("Points")), tuple((Cell(f"team {n}"), Cell(text)) for n, text in enumerate(NUMBERS))
)


@dataclass
class Asked:
    """A run that has predicted already."""

    examples: tuple[Example, ...]
    predictions: dict[str, TableAnswer]
    data_dir: Path
    rows: str = ALL_ROWS

    def predict(self):
        return self.predictions


def answer(name, cells, aggregation="NONE"):
    return TableAnswer(name, tuple(cells), (0.9,) * len(cells), aggregation, 1.0)


def shown(report):
    console = Console(width=200)
    with console.capture() as captured:
        console.print(report.table)
    return captured.get()


def conversations():
    """Twelve conversations of two questions: the first team, then its points."""
    turns = [(number, position) for number in range(12) for position in (0, 1)]
    return tuple(
        Example(
            f"nt-{number}-0_{position}",
            ("what is the team?", "points?")[position],
            TABLE,
            ("x",),
            candidates=((1, position),),
            conversation=f"nt-{number}-0",
            position=position,
            previous=((1, 0),) * position,
        )
        for number, position in turns
    )


def test_conversations_with_each_history():
    examples = conversations()
    gold = {example.id: answer(example.id, example.candidates) for example in examples}
    predicted = gold | {examples[number].id: answer("", ()) for number in (0, 3, 5)}
    report = SequenceEvaluation(examples, predicted, gold).report("dev")
    predicted, given = report.record["own_history"], report.record["gold_history"]
    assert (report.record["questions"], report.record["conversations"]) == (24, 12)
    means = {name: value["mean"] for name, value in predicted["model"].items()}
    assert means == {"ALL": 21 / 24, "SEQ": 9 / 12, "pos 1": 11 / 12, "pos 2": 10 / 12}
    assert all(value["mean"] == 1 for value in given["model"].values())
    # The rule that looks back is right at position 2 where it is told the right row.
    assert given["baselines"]["named column, rows before, gold history"]["pos 2"] == 1
    assert predicted["baselines"]["named column, rows before"]["pos 2"] == 0
    assert given["lead"]["ALL"]["over"] == "named column, rows before, gold history"
    assert given["lead"]["ALL"]["mean"] == 0.5
    assert predicted["model"]["ALL"]["low"] < 21 / 24 < predicted["model"]["ALL"]["high"]
    assert "ALL 87.5 (95% interval" in report.summary
    assert "SEQ 75.0" in report.summary
    assert "model, gold history" in shown(report)
    json.dumps(report.record)


def test_denotations_by_where_the_answer_is(tmp_path):
    tags = tmp_path / "tagged" / "data"
    tags.mkdir(parents=True)
    (tags / "own.tagged").write_text("id\ttargetValue\ttargetCanon\nq1\tone hundred\t100.0\n")
    examples = (
        Example("q0", "", TABLE, ("team 1",), candidates=((1, 0),)),
        Example("q1", "", TABLE, ("one hundred",), value=100.0),
        Example("q2", "", TABLE, ("4",), value=4.0),
        Example("q3", "", TABLE, ("unheard of",)),
        Example("blind", "", TABLE),
    )
    everything = [(row, 1) for row in range(4)]
    predictions = {
        "q0": answer("q0", [(1, 0)]),
        "q1": answer("q1", everything, "SUM"),
        "q2": answer("q2", everything, "AVERAGE"),
    }
    report = evaluate(Asked(examples, predictions, tmp_path)).report("test")
    model = report.record["model"]
    assert {name: (values["number"], values["mean"]) for name, values in model.items()} == {
        "accuracy": (4, 0.5),
        "in cells": (1, 1.0),
        "computed": (2, 0.5),
        "release": (4, 0.5),
    }
    baselines = {name: values["accuracy"] for name, values in report.record["baselines"].items()}
    assert baselines == {"empty answer": 0, "first cell": 0, "number of rows": 0.25, "always 3": 0, "always 2": 0}
    assert report.record["baselines"]["number of rows"]["release"] == 0.25
    assert report.record["lead"]["accuracy"]["over"] == "number of rows"
    assert "accuracy 50.0 (95% interval" in report.summary
    assert "number of rows" in shown(report)


def test_with_chosen_rows_answers_have_the_form_that_was_asked_for(tmp_path):
    """As ``mate predict`` gives them: the sum of the points, where the model counts them."""
    examples = (Example("q", "How many points do all teams have?", TABLE, ("100",), value=100.0),)
    predictions = {"q": answer("q", [(row, 1) for row in range(4)], "COUNT")}
    right = [
        evaluate(Asked(examples, predictions, tmp_path, rows)).record()["model"] for rows in (ALL_ROWS, CHOSEN_ROWS)
    ]
    assert [model["accuracy"]["mean"] for model in right] == [0, 1]


def test_statements_and_the_same_verdict_on_all():
    examples = tuple(
        Example(f"s{number}", "", TABLE, label=int(number < 6), groups=("simple",) if number % 2 else ("complex",))
        for number in range(10)
    )
    predictions = {e.id: Entailment(e.id, int(number < 8), 0.8) for number, e in enumerate(examples)}
    report = EntailmentEvaluation(examples, predictions).report("dev")
    means = {name: values["mean"] for name, values in report.record["model"].items()}
    assert means == pytest.approx({"all": 0.8, "simple": 0.8, "complex": 0.8})
    assert report.record["lead"]["all"]["over"] == "entailed, always"
    assert report.record["lead"]["all"]["mean"] == pytest.approx(0.2)
    assert "all 80.0" in report.summary


@pytest.mark.parametrize(
    "evaluation",
    [
        SequenceEvaluation((Example("q", "", TABLE, conversation="a-0"),), {}, {}),
        DenotationEvaluation((Example("q", "", TABLE),), {}, {}),
        EntailmentEvaluation((Example("q", "", TABLE),), {}),
    ],
)
def test_a_blind_split_has_no_scores(evaluation):
    report = evaluation.report("test")
    assert (report.record, report.table, report.summary) == ({"questions": 0}, None, "")
