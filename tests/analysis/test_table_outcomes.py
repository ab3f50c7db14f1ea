"""`analysis=compare` and `analysis=errors` of runs of SQA, WikiTableQuestions and TabFact, with answers of our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from mate_cli.analysis import outcomes
from mate_cli.analysis.compare import compare
from mate_cli.analysis.errors import MISTAKES, sample_table_errors
from mate_cli.analysis.outcomes import TableOutcomes, open_outcomes
from mate_cli.cli.main import main
from mate_cli.config.paths import PathsConfig
from mate_cli.config.plain import to_plain
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS
from mate_cli.tables.table import Example
from tests.tables.releases import write_sqa, write_tabfact, write_wtq
from tests.training.test_every_model import composed

RELEASES = {"sqa": write_sqa, "wtq": write_wtq, "tabfact": write_tabfact}
Answer = Callable[[Example], Mapping[str, Any] | None]


def gold(example: Example) -> dict[str, Any]:
    if example.label is not None:
        return {"label": example.label, "probability": 0.9}
    return {"cells": example.candidates, "probabilities": [0.9] * len(example.candidates), "aggregation": "NONE"}


def other(example: Example) -> dict[str, Any]:
    """The other verdict; a cell of another column."""
    if example.label is not None:
        return {"label": 1 - example.label, "probability": 0.9}
    column = next(c for c in range(example.table.num_columns) if c not in {own for _, own in example.candidates})
    return {"cells": [(0, column)], "probabilities": [0.6], "aggregation": "NONE"}


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str, str, Answer], str]:
    """Writes what a scored run of a task leaves behind."""

    def write(task: str, name: str, answer: Answer) -> str:
        data = RELEASES[task](tmp_path / task)
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        config = composed(f"task={task}", "backbone=tiny", "schedule=smoke", f"data_dir={data}")
        (folder / "config.yaml").write_text(yaml.safe_dump(to_plain(config)))
        examples = FORMATS[task].read_split(data, "dev").examples
        answered = [(example, answer(example)) for example in examples]
        lines = [json.dumps({"id": example.id, **own}) for example, own in answered if own is not None]
        (folder / "predictions-dev.jsonl").write_text("\n".join(lines) + "\n")
        (folder / "metrics.json").write_text(json.dumps({"dev": {"questions": len(examples)}}))
        return str(folder)

    return write


def opened(folder: str) -> TableOutcomes:
    outcomes = open_outcomes(folder, "dev", None, PathsConfig())
    assert isinstance(outcomes, TableOutcomes)
    return outcomes


@pytest.mark.parametrize(("task", "measures"), [("sqa", ["ALL", "SEQ"]), ("wtq", ["accuracy"]), ("tabfact", ["all"])])
def test_the_right_and_the_wrong_differ_by_all(run: Any, task: str, measures: list[str]) -> None:
    right, wrong = compare([opened(run(task, "right", gold)), opened(run(task, "wrong", other))])
    assert list(right.measures)[: len(measures)] == measures
    if task == "wtq":  # some of its answers are in no cell
        share = right.measures["accuracy"].mean
        assert 0 < share < 1
        assert wrong.differences["accuracy"].mean == pytest.approx(-share)
        return
    assert all(interval.mean == 1 for interval in right.measures.values())
    # A constant difference of two conversations or a few statements is not a certain one.
    assert all(difference.mean == difference.low == -1 < difference.high for difference in wrong.differences.values())
    assert (right.unread, wrong.differences.keys()) == (0, right.measures.keys())


def test_a_kind_that_gives_no_measures(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "kind_of", lambda task: SimpleNamespace(answering=None))
    with pytest.raises(UserError, match="its kind gives no measures to analyse"):
        opened(run("sqa", "right", gold))


def test_sequences_are_right_as_wholes_and_drawn_as_wholes(run: Any) -> None:
    """Of a conversation of three and one of a single question, one answer of the three is not there."""
    right = opened(run("sqa", "right", gold))
    partly = opened(run("sqa", "partly", lambda example: None if example.id == "s-1-0_1" else gold(example)))
    first, second = compare([right, partly])
    assert (second.unread, second.measures["ALL"].mean, second.measures["SEQ"].mean) == (1, 0.75, 0.5)
    assert right.groups()["ALL"].tolist() == [0, 0, 0, 1]
    # Drawn together, the worst draw is the first conversation twice; drawn one by one it would be lower.
    assert second.differences["ALL"].low == pytest.approx(-1 / 3)
    assert first.differences == {}


@pytest.mark.parametrize("task", RELEASES)
def test_questions_are_paired_by_id_in_whatever_order_the_data_has_them(
    run: Any, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, data = cycle([gold, other, other]), outcomes._answered
    mixed = run(task, "mixed", lambda example: next(answers)(example))
    first = opened(mixed)
    in_order = compare([first, opened(mixed)])
    monkeypatch.setattr(outcomes, "_answered", lambda source: data(source)[::-1])
    assert compare([first, opened(mixed)]) == in_order


def test_questions_that_share_an_id_cannot_be_paired(run: Any) -> None:
    right = opened(run("wtq", "right", gold))
    twice = replace(right, examples=(*right.examples, right.examples[0]))
    for runs in ([right, twice], [twice, right]):
        with pytest.raises(UserError, match=r"2 questions have the id '.*give each an id of its own"):
            compare(runs)


def test_runs_of_other_tasks_are_no_match(run: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folders = run("sqa", "one", gold), run("tabfact", "two", gold)
    assert main(["analyze", "analysis=compare", f"runs=[{','.join(folders)}]", f"to={tmp_path / 'o'}"]) == 2
    error = capsys.readouterr().err
    assert "answer different questions" in error
    assert error.count("\n") == 1


def test_what_is_wrong_with_each(run: Any) -> None:
    def answer(example: Example) -> Mapping[str, Any] | None:
        by_place = {
            0: {"cells": example.candidates[:1], "probabilities": [0.9], "aggregation": "NONE"},
            1: other(example),
            3: None,
        }
        return by_place[example.position] if example.conversation == "s-1-0" else gold(example)

    errors = sample_table_errors(opened(run("sqa", "run", answer)), 10, seed=0)
    assert (errors.questions, errors.wrong) == (4, 3)
    assert [own.mistake for own in errors.sample] == ["cells", "column", "unread"]
    assert [own.prediction for own in errors.sample] == [("Birch",), ("Ann, the elder",), ()]
    verdicts = sample_table_errors(opened(run("tabfact", "other", other)), 10, seed=0).sample
    assert {own.mistake for own in verdicts} == {"verdict"}
    assert {(own.example.label, own.prediction) for own in verdicts} == {(0, ("entailed",)), (1, ("refuted",))}


def test_the_sheet_of_wikitablequestions(run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def counted(example: Example) -> dict[str, Any]:
        return gold(example) | {"aggregation": "COUNT"}

    folder, to = run("wtq", "run", counted), tmp_path / "out"
    words = ["analyze", "analysis=errors", f"run={folder}", f"to={to}"]
    assert main(words) == 0
    assert "of 7 wrong answers to 7 questions" in capsys.readouterr().out.replace("\n", " ")
    rows = [json.loads(line) for line in (to / "errors.jsonl").read_text().splitlines()]
    assert {row["mistake"] for row in rows} == {"operator", "computed"} <= set(MISTAKES)
    first = rows[0]
    assert (first["id"], first["table_id"], first["operator"]) == ("nt-1", "csv/1-csv/1.csv", "COUNT")
    assert (first["gold"], first["prediction"]) == (["Ann [1]"], ["1"])
    cell = {"row": 0, "column": 1, "header": "Mayor\nin office", "text": "ann"}
    assert first["cells"] == first["gold_cells"] == [cell]
    rows[0]["annotation"]["note"] = "counted"
    (to / "errors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(words) == 2
    assert "has annotations" in capsys.readouterr().err


def test_a_reader_alone_is_refused(trained: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "analysis=errors", f"run={trained.reader}"]) == 2
    assert "a reader; name the folder that mate evaluate selector=... reader=" in capsys.readouterr().err


def test_answers_without_their_scores_are_made_anew(run: Any) -> None:
    """A kill between the two files leaves them so."""
    folder = run("tabfact", "run", gold)
    for scores in ({}, {"test": {"questions": 4}}):
        Path(folder, "metrics.json").write_text(json.dumps(scores))
        with pytest.raises(UserError, match=r"or score these: mate evaluate run=.* split=dev"):
            opened(folder)


def test_answers_that_cannot_be_read_are_made_anew(run: Any) -> None:
    folder = run("tabfact", "run", gold)
    Path(folder, "predictions-dev.jsonl").write_text('{"id": "1", ')
    with pytest.raises(UserError, match=r"cannot read .*predictions-dev\.jsonl .*create it again with mate evaluate"):
        opened(folder)
