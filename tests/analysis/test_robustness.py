"""`mate analyze analysis=robustness`: what changes, counted by answers whose change is known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rich.console import Console

from mate_cli.analysis import robustness as module
from mate_cli.analysis.robustness import JudgedRun, is_same, robustness
from mate_cli.cli.main import main
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.kinds.registry import kind_named
from mate_cli.metrics.wtq import values_of
from mate_cli.runs.folder import load_run_config
from mate_cli.system.errors import UserError
from mate_cli.tables.perturb import Perturbation, arrangements
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.entailment import Entailment
from mate_cli.tasks.table_qa import TableAnswer

KINDS = ("rows", "columns", "distractors")


def the_answer(example):
    return TableAnswer(example.id, example.candidates, (0.9,) * len(example.candidates), "NONE", 1.0)


def the_first_cell(example):
    return CellPrediction(example.id, ((0, 0),), (1.0,))


def by_the_first_cell(example):
    return Entailment(example.id, len(example.table.rows[0][0].text) % 2, 0.5)


@pytest.fixture
def run(trained, monkeypatch):
    """The sample's test split, answered by a rule instead of the run, as a run of the rule's kind."""

    def make(rule):
        def predict(folder, config, hardware, source, console):
            return {example.id: rule(example) for example in source.read().examples}

        monkeypatch.setattr(module, "predict_split", predict)
        config = load_run_config(trained.run)
        config.paths = PathsConfig()
        config.task.kind = {the_answer: "table_qa", by_the_first_cell: "entailment"}.get(rule, "cell_selection")
        return JudgedRun(
            trained.run, config, HardwareConfig(name="cpu", micro_batch=8), "test", None, Console(quiet=True)
        )

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_who_finds_the_cells_wherever_they_are_changes_nothing(run, kind):
    (own,) = robustness(run(the_answer), [Perturbation(kind)]).sensitivities
    assert (own.changed.mean, own.gain.mean, own.changed_ids, own.unread) == (0, 0, (), 0)
    assert own.before == own.after


@pytest.mark.parametrize("rule", [the_first_cell, by_the_first_cell])
@pytest.mark.parametrize("kind", KINDS)
def test_who_looks_at_one_place_changes_with_what_stands_there(run, trained, kind, rule):
    perturbation = Perturbation(kind, seed=3)
    (own,) = robustness(run(rule), [perturbation]).sensitivities
    tables = arrangements(trained.examples, perturbation)
    moved = [(example, tables[example.table.id]) for example in trained.examples]
    if rule is the_first_cell:
        expected = [e.id for e, new in moved if (new.rows[0], new.columns[0]) != (0, 0)]
        right = [(0, 0) in new.applied(e).candidates for e, new in moved]
        assert own.after.mean == pytest.approx(sum(right) / len(right))
    else:
        lengths = ((e.id, [len(t.rows[0][0].text) % 2 for t in (e.table, new.table)]) for e, new in moved)
        expected = [name for name, (before, after) in lengths if before != after]
    assert 0 < len(expected) < len(moved)
    assert list(own.changed_ids) == expected
    assert own.changed.mean == pytest.approx(len(expected) / len(moved))


def test_what_is_right_of_each_kind_of_prediction():
    table = Table("t", (Cell("a"),), ((Cell("1"),), (Cell("2"),)))
    turn = Example("q", "", table, ("1",), candidates=((0, 0),), conversation="c-0")
    both = TableAnswer("q", ((0, 0), (1, 0)), (1.0, 1.0), "SUM", 1.0)
    table_qa, entailment = (kind_named(name).answering for name in ("table_qa", "entailment"))
    assert not table_qa.is_right(turn, both, values_of(["3"]))  # in a conversation the cells count
    assert table_qa.is_right(Example("q", "", table, ("3",), value=3.0), both, values_of(["3"]))
    assert entailment.is_right(Example("q", "", table, label=0), Entailment("q", 0, 0.9), ())
    (arrangement,) = arrangements([turn], Perturbation("rows")).values()
    assert is_same(table_qa, both, both, arrangement)
    assert not is_same(table_qa, both, TableAnswer("q", both.cells, (1.0, 1.0), "COUNT", 1.0), arrangement)


def test_the_command_on_a_trained_run(trained, tmp_path, capsys):
    words = ["analyze", "analysis=robustness", f"run={trained.run}", "split=test", f"to={tmp_path}", "hardware=cpu"]
    assert main([*words, "analysis.distractors=[0.25,2]", "max_tokens=512", "hardware.workers=0"]) == 0
    assert "predictions that change" in capsys.readouterr().out
    record = json.loads((tmp_path / "robustness.json").read_text())
    scores = json.loads((trained.run / "metrics.json").read_text())["test"]["model"]["all"]
    assert [own["perturbation"]["kind"] for own in record["sensitivities"]] == [*KINDS, "distractors"]
    for own in record["sensitivities"]:
        assert (own["questions"], own["unread"]) == (170, 0)
        assert own["before"]["mean"] == pytest.approx(scores["hits@1"])
        assert own["changed"]["mean"] == pytest.approx(len(own["changed_ids"]) / 170)
        assert own["changed"]["mean"] > 0  # an untrained model knows rows and columns by their number
    bins = record["lengths"]
    assert sum(own["questions"] for own in bins) == 170
    hits = sum(own["questions"] * own["accuracy"]["mean"] for own in bins)
    assert hits / 170 == pytest.approx(scores["hits@1"])
    markdown = (tmp_path / "robustness.md").read_text()
    *same, few, many = (own["tokens"] for own in record["sensitivities"])
    assert len(set(same)) == 1  # shuffled, nothing is longer
    assert same[0] < few < many
    assert f"| rows added, 25% | 170 | 0 | {few} |" in markdown
    assert f"| rows added, 200% | 170 | 0 | {many} |" in markdown
    assert f"| ≤{bins[0]['tokens']} | {bins[0]['questions']} |" in markdown
    assert (tmp_path / "robustness.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run=READER"], "predicts neither cells nor a label"),
        ([], "run is missing: write run=..."),
        (["run=RUN", "analysis.perturbations=[rows,cells]"], "cells"),
        (["run=RUN", "analysis.distractors=1"], "analysis.distractors=1: must be a list [A,B] of numbers"),
        (["run=RUN", "analysis.distractors=[2,0]"], "analysis.distractors=0.0: must be above 0"),
        (["analysis=coverage", "max_tokens=512"], "max_tokens says how to read a task: add task=NAME"),
        (
            ["analysis=errors", "run=RUN", "max_tokens=512"],
            "max_tokens belongs to analysis=robustness or coverage or flow",
        ),
        (["run=RUN", "analysis=coverage"], "run belongs to analysis=errors or breakdown or robustness or flow"),
    ],
)
def test_what_is_refused(trained, capsys, words, message):
    named = [word.replace("READER", str(trained.reader)).replace("RUN", str(trained.run)) for word in words]
    default = [] if any(word.startswith("analysis=") for word in named) else ["analysis=robustness"]
    assert main(["analyze", *default, "split=test", *named]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_questions_of_a_conversation_are_drawn_together(run, monkeypatch):
    """Conversations of four questions, in each of which all are right or none is, before and after."""
    judged, sequences = run(the_answer), {}
    for number, (name, example) in enumerate(judged.examples.items()):
        sequences[name] = f"c-{number // 4}"
        judged.examples[name] = replace(example, conversation=sequences[name], operator="NONE")
    monkeypatch.setattr(judged, "is_right", lambda example, _: int(sequences[example.id][2:]) % 2 == 0)
    together = robustness(judged, [Perturbation("rows")])
    judged.examples = {name: replace(example, conversation="") for name, example in judged.examples.items()}
    alone = robustness(judged, [Perturbation("rows")])
    pairs = [(ours.accuracy, theirs.accuracy) for ours, theirs in zip(together.lengths, alone.lengths, strict=True)]
    (ours,), (theirs,) = together.sensitivities, alone.sensitivities
    pairs += [(ours.before, theirs.before), (ours.after, theirs.after)]
    pairs += [(ours.changed, theirs.changed), (ours.gain, theirs.gain)]  # no answer changes
    for wide, narrow in pairs:
        assert wide.mean == narrow.mean
        assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


def test_tables_of_a_single_cell_cannot_be_changed(run):
    judged = run(the_answer)
    table = Table("one", (Cell("city"),), ((Cell("Rome"),),))
    judged.all_examples = (Example("q", "where?", table, ("Rome",), {}, ((0, 0),)),)
    judged.examples = {"q": judged.all_examples[0]}
    with pytest.raises(UserError, match="rows: changes no table of this split"):
        robustness(judged, [Perturbation("rows")])
