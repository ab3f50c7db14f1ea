"""Calibration through the command line: from ``mate evaluate calibrate=`` to what ``mate predict`` prints."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mate_cli.cli.main import main
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.task import TaskConfig
from mate_cli.config.train import TrainConfig
from mate_cli.inference import trust
from mate_cli.inference.calibration import JudgedCell, calibration_of, fit_calibration, read_calibration
from mate_cli.inference.caveats import withheld
from mate_cli.inference.predictor import Predictor
from mate_cli.inference.trust import JudgedAnswers, check_confidence, conversation_numbers, measured
from mate_cli.metrics.confidence import Confidence
from mate_cli.notebook import load_run
from mate_cli.reporting.answer import answer_line
from mate_cli.runs.folder import RunFolder, read_record
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example, Table
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.releases import write, write_sqa
from tests.training.conftest import TINY, train_once

TOWNS = "town,people\nBirch,10\nElm,20\nAsh,30\n"
TABLES, QUESTIONS = 12, 6


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Tables of our own with questions that a cell answers, the first six of each table in dev."""
    folder = tmp_path_factory.mktemp("data")
    lines = {"train": ["id,question,table,answer"], "dev": ["id,question,table,answer"]}
    for table in range(TABLES):
        rows = [f"town{table}x{row},{100 * table + row}" for row in range(QUESTIONS)]
        write(folder / f"t{table}.csv", "\n".join(["town,people", *rows]))
        asked = [f"{table}-{row},how large is town{table}x{row}?,t{table}.csv,{100 * table + row}" for row in range(6)]
        lines["dev"] += asked
        lines["train"] += [line.replace(",", "-again,", 1) for line in asked[:5]]
    for split, content in lines.items():
        write(folder / f"{split}.csv", "\n".join(content))
    return folder


def guesses(self, batches):
    """Predict with 0.97 for the first four rows, right on three of them; with 0.6 for the others, and wrong."""
    return [_guess(name) for batch in batches for name in batch.ids]


def _guess(name):
    if name == "question":
        return TableAnswer(name, ((0, 1), (2, 1)), (0.97, 0.98), "SUM", 0.99)
    row = int(name.split("-")[1])
    return TableAnswer(name, ((row if row < 3 else 0, 1),), (0.97 if row < 4 else 0.6,), "NONE", 0.99)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, cache, data):
    """A run with a calibration, and what its fit printed."""
    folder = train_once(tmp_path_factory, cache, "task=own_qa", *TINY, f"data_dir={data}", "name=run")
    run, shown = folder / "runs" / "own_qa" / "run", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(shown):
        patch.setenv("MATE_CACHE", str(cache))
        patch.setattr(Predictor, "predict", guesses)
        assert main(["evaluate", f"run={run}", "split=dev", "calibrate=0.7", "hardware=cpu"]) == 0
    return run, shown.getvalue()


@pytest.fixture
def run(fitted, tmp_path, monkeypatch):
    """A copy of the run, with the same answers."""
    monkeypatch.setattr(Predictor, "predict", guesses)
    return shutil.copytree(fitted[0], tmp_path / "run")


def ask(mate, capsys, run, *words):
    write_table()
    capsys.readouterr()
    fixed = (f"run={run}", "table=towns.csv", "question=how many people in all?", "hardware=cpu")
    assert mate("predict", *fixed, *words) == 0
    return capsys.readouterr()


def write_table():
    Path("towns.csv").write_text(TOWNS)


def test_the_fit_is_that_of_the_answers(fitted):
    run, shown = fitted
    assert "72 questions on 12 tables, 50.0% right" in shown
    written = json.loads((run / "calibration.json").read_text())
    # Of those it is sure of, three of four are right, and none of the others.
    assert written["measures"]["at_threshold"]["coverage"] == pytest.approx(4 / 6)
    assert written["measures"]["at_threshold"]["accuracy"] == pytest.approx(3 / 4)
    assert written["measures"]["methods"]["none"]["calibration_error"] == pytest.approx(
        (48 * (0.97 - 0.75) + 24 * 0.6) / 72, abs=1e-6
    )


def test_cells_have_a_map_of_their_own(fitted, mate, run, capsys):
    """Of the cells with 0.97 three of four are the answer's, of those with 0.6 none."""
    shown, cells = fitted[1], json.loads((run / "calibration.json").read_text())["measures"]["cells"]
    assert (cells["cells"], cells["right"]) == (72, 0.5)
    before = (48 * (0.97 - 0.75) + 24 * 0.6) / 72
    assert cells["methods"]["none"]["calibration_error"] == pytest.approx(before, abs=1e-6)
    assert f"cells: calibration error {before:.3f} without, " in shown
    calibration, _ = calibration_of(RunFolder(run))
    assert calibration.cell_probabilities([0.6, 0.97]) == pytest.approx([0.0, 0.75], abs=0.05)
    marked = json.loads(ask(mate, capsys, run, "output=json").out)["cells"]
    assert [cell["probability"] for cell in marked] == pytest.approx([0.75, 0.75], abs=0.05)


@pytest.mark.parametrize(("cells", "right"), [(0, []), (40, [True] * 20 + [False] * 20), (80, [True] * 80)])
def test_too_few_known_cells_keep_the_model_s_probabilities(run, cells, right):
    judged = [JudgedCell(0.9, is_right, f"t{k % 10}") for k, is_right in zip(range(cells), right, strict=True)]
    calibration = fit_calibration(RunFolder(run), *made(), accuracy=0.5, split="dev", cells=judged)
    assert (calibration.cells, calibration.measures["cells"]) == (None, None)
    assert calibration.cell_probabilities([0.9, 0.2]) == [0.9, 0.2]


def test_an_answer_shows_its_probability_and_none_below_the_threshold(mate, run, capsys):
    record = json.loads(ask(mate, capsys, run, "output=json").out)
    sure = record["answer_probability"]
    (expected,) = calibration_of(RunFolder(run))[0].probabilities([Confidence(0.97, 2, "SUM", 0.99)])
    assert sure == pytest.approx(expected, abs=1e-6)
    assert (record["answer"], record["formula"]) == (["40"], "SUM(people of rows 0, 2) = 40")
    assert f"answer: 40  (SUM(people of rows 0, 2) = 40; probability {sure:.2f})" in ask(mate, capsys, run).out
    line = ask(mate, capsys, run, "threshold=1").out.splitlines()[-1]
    assert line == (
        f"no answer: probability {sure:.2f} is below threshold=1; best guess: 40  (SUM(people of rows 0, 2) = 40; "
        f"probability {sure:.2f})"
    )
    loaded = load_run(run, hardware=HardwareConfig(name="cpu", accelerator="cpu", micro_batch=1))
    frame = pd.DataFrame({"town": ["Birch", "Elm", "Ash"], "people": ["10", "20", "30"]})
    below = loaded.answer("how many people in all?", frame, threshold=sure + 0.01)
    assert (below["answer"], below["best_guess"], below["answer_probability"]) == ([], ["40"], sure)
    assert loaded.answer("how many people in all?", frame, threshold=sure - 0.01)["answer"] == ["40"]
    assert loaded.calibration.threshold == json.loads((run / "calibration.json").read_text())["threshold"]


def test_without_a_calibration_all_is_as_it_was(mate, run, capsys):
    (run / "calibration.json").unlink()
    assert "answer_probability" not in json.loads(ask(mate, capsys, run, "output=json").out)
    assert mate("export", f"run={run}", "to=exported") == 0
    assert not Path("exported/calibration.json").exists()
    assert "## Probabilities" not in Path("exported/README.md").read_text()


def test_it_is_measured_on_other_questions_and_without_answers(mate, run, capsys):
    assert mate("evaluate", f"run={run}", "split=train", "hardware=cpu") == 0
    assert "with calibration.json; above its threshold 80.0% of the questions, right 75.0%" in capsys.readouterr().out
    assert mate("evaluate", f"run={run}", "split=dev", "unanswerable=true", "hardware=cpu") == 0
    shown = capsys.readouterr().out
    assert "dev: 72 questions that cells answer" in shown
    assert "without the rows of the answer" in shown
    measured = json.loads((run / "calibration.json").read_text())["measures"]["measured"]
    assert measured["train"]["error"] < measured["train"]["error_before"]
    assert measured["dev without answers"]["whole"]["mean"] == pytest.approx(2 / 6)


def test_questions_of_a_conversation_are_drawn_together(run, monkeypatch):
    """With conversations in which all answers are right or none is, the interval is wider than without."""
    right, confidences, tables = np.repeat(np.arange(20) % 2 == 0, 5), [Confidence(0.97, 1, "NONE", 0.99)] * 100, ["t"]
    calibration, _ = calibration_of(RunFolder(run))
    widths = []
    for numbers in (np.arange(100) // 5, np.arange(100)):
        answers = JudgedAnswers(confidences, right, tables * 100, numbers, [])
        monkeypatch.setattr(trust, "judged", lambda *_, own=answers: own)
        accuracy = measured(SimpleNamespace(folder=RunFolder(run)), "dev", {}, calibration)["accuracy"]
        assert accuracy["mean"] == 0.5
        widths.append(accuracy["high"] - accuracy["low"])
    assert widths[0] > 1.5 * widths[1]
    of_turns, table = ("c", "", "c", "", "d"), Table("t", (), ())
    turns = [Example(str(number), "", table, conversation=name) for number, name in enumerate(of_turns)]
    assert conversation_numbers(turns).tolist() == [0, 1, 0, 2, 3]


def test_evaluations_of_other_data_and_lengths_leave_those_of_its_own(mate, run, data, tmp_path, capsys):
    moved, other = (shutil.copytree(data, tmp_path / name) for name in ("moved", "other"))
    (other / "dev.csv").write_text("".join((data / "dev.csv").read_text().splitlines(keepends=True)[:13]))
    assert mate("evaluate", f"run={run}", "split=train", "hardware=cpu", f"data_dir={moved}") == 0
    own = {path.name: path.read_bytes() for path in run.glob("predictions-*.jsonl")}
    metrics, kept = (read_record(run / f"{name}.json") for name in ("metrics", "calibration"))
    assert (own.keys(), metrics.keys()) == ({"predictions-dev.jsonl", "predictions-train.jsonl"}, {"dev", "train"})
    capsys.readouterr()
    for words in ((), ("split=train",), ("unanswerable=true",)):
        assert mate("evaluate", f"run={run}", f"data_dir={other}", *words, "hardware=cpu") == 0
    assert mate("evaluate", f"run={run}", "split=train", "max_tokens=64", "hardware=cpu") == 0
    label = next(path for path in run.glob("predictions-dev-data-*.jsonl")).stem.removeprefix("predictions-")
    assert f"not the data of the training: scores and files go by {label}" in capsys.readouterr().out
    assert {name: (run / name).read_bytes() for name in own} == own
    after = read_record(run / "metrics.json")
    assert {name: after[name] for name in metrics} == metrics
    assert after[label]["questions"] == 12
    again = read_record(run / "calibration.json")["measures"]["measured"]
    assert again["train"] == kept["measures"]["measured"]["train"]
    train = label.replace("dev", "train", 1)
    assert again.keys() == {"train", "train-64", label, train, f"{label} without answers"}
    assert mate("export", f"run={run}", "to=exported") == 0
    card = Path("exported/README.md").read_text()
    for words in ("split=dev data_dir=DATA", "split=dev data_dir=DATA unanswerable=true", "split=train max_tokens=64"):
        assert f"`mate evaluate run=RUN {words}`" in card


def test_a_model_without_a_record_of_its_data_is_scored_under_the_split(mate, run, data, tmp_path):
    (run / "environment.json").unlink()
    other = shutil.copytree(data, tmp_path / "other")
    (other / "train.csv").unlink()
    assert mate("evaluate", f"run={run}", "split=dev", f"data_dir={other}", "hardware=cpu") == 0
    assert not list(run.glob("*-data-*"))


def test_an_export_takes_its_calibration_along(mate, run, tmp_path):
    assert mate("export", f"run={run}", "to=exported", "dtype=float16") == 0
    copy, _ = calibration_of(RunFolder(tmp_path / "exported"))
    original, _ = calibration_of(RunFolder(run))
    assert copy.map == original.map
    assert copy.weights != original.weights
    card = (tmp_path / "exported" / "README.md").read_text()
    assert "## Probabilities" in card
    assert "66.7% of them get an answer, and 75.0% of these answers are right" in card
    assert "\n\n\n" not in card


def test_a_calibration_of_other_weights_is_ignored_with_a_line(mate, run, capsys):
    plain = json.loads((run / "calibration.json").read_text())
    (run / "calibration.json").write_text(json.dumps(plain | {"weights": "0" * 40}))
    shown = ask(mate, capsys, run)
    assert "calibration.json is of other weights and is ignored; make it again: mate evaluate" in shown.err
    assert "= 40; probability 0.97)" in shown.out
    assert mate("evaluate", f"run={run}", "split=train", "hardware=cpu") == 0
    assert "is of other weights and is ignored" in capsys.readouterr().out
    assert mate("evaluate", f"run={run}", "split=dev", "unanswerable=true", "hardware=cpu") == 2
    assert "has no threshold; mate evaluate run=RUN calibrate=0.9 fits one" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 1.5},
        {"threshold": "high"},
        {"map": {"method": "magic"}},
        {"map": None},
        {"accuracy": None},
        {"measures": 3},
    ],
)
def test_a_broken_calibration_is_one_line(run, change):
    file = run / "calibration.json"
    plain = json.loads(file.read_text())
    read_calibration(file).write(file)
    assert json.loads(file.read_text()) == plain
    file.write_text(json.dumps(plain | change))
    with pytest.raises(UserError, match="is no calibration of mate") as caught:
        read_calibration(file)
    assert "\n" not in str(caught.value)
    assert "remove it, or make it again" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"weights": 1}', "\x00"])
def test_a_file_of_something_else_is_one_line(tmp_path, text):
    (tmp_path / "calibration.json").write_text(text)
    with pytest.raises(UserError, match="is no calibration of mate") as caught:
        read_calibration(tmp_path / "calibration.json")
    assert "\n" not in str(caught.value)


def made(questions=120, right=0.5, tables=10):
    random = np.random.default_rng(0)
    confidences = [Confidence(float(p), 1, "NONE", 1.0) for p in random.random(questions)]
    return confidences, random.random(questions) < right, [f"t{k % tables}" for k in range(questions)]


@pytest.mark.parametrize(("questions", "right", "tables"), [(49, 0.5, 10), (120, 0.5, 4), (120, 0.0, 10), (0, 0.5, 10)])
def test_a_fit_needs_enough_answers(run, questions, right, tables):
    with pytest.raises(UserError, match="calibrate needs answers to 50 questions on 5 tables"):
        fit_calibration(RunFolder(run), *made(questions, right, tables), accuracy=0.9, split="dev")


def test_chance_has_no_threshold(mate, run):
    calibration = fit_calibration(RunFolder(run), *made(400), accuracy=0.99, split="dev")
    assert calibration.threshold is None
    calibration.write(run / "calibration.json")
    assert mate("export", f"run={run}", "to=exported") == 0
    assert "No threshold leaves 99% right answers." in Path("exported/README.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("split=test", "calibrate=0.9"), "calibrate: split=test is for scores"),
        (("calibrate=0.9", "unanswerable=true"), "calibrate and unanswerable given: ask for one at a time"),
        (("split=train", "calibrate=0.9"), "no table of train was kept out of its training; set split=dev"),
        (("seen=[.]",), "seen=.: this is no folder of SQA"),
    ],
)
def test_what_cannot_be_calibrated_is_one_line(mate, run, capsys, words, message):
    assert mate("evaluate", f"run={run}", "hardware=cpu", *words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize("kind", ["cell_selection", "span_reading", "masked_language"])
def test_other_kinds_of_answers_are_not_calibrated(kind):
    other = SimpleNamespace(config=TrainConfig(task=TaskConfig(name="mine", kind=kind)))
    with pytest.raises(UserError, match="calibrate: the answers of task=mine cannot be calibrated"):
        check_confidence(other, "calibrate")


def test_without_copies_of_tables_that_other_data_trained_on_all_stay(mate, run, tmp_path, capsys):
    other = write_sqa(tmp_path / "sqa")
    words = ("evaluate", f"run={run}", "split=dev", f"seen=[{other}]", "hardware=cpu")
    assert mate(*words, "calibrate=0.7") == 0
    assert "72 questions on 12 tables" in capsys.readouterr().out
    assert (run / "predictions-dev-unseen.jsonl").is_file()


@pytest.mark.parametrize(
    ("record", "empty", "line"),
    [
        (
            {"answer": "Oslo", "cells": [{"probability": 0.4, "row": 1, "header": "office"}]},
            "",
            "no answer: probability 0.40 is below threshold=0.5; best guess: Oslo  (office, row 1; probability 0.40)",
        ),
        (
            {"answer": "refuted", "probability": 0.45},
            "",
            "no answer: probability 0.45 is below threshold=0.5; best guess: refuted  (probability 0.45)",
        ),
        (
            {"answer": [], "operator": "NONE", "operator_probability": 1.0, "cells": [], "formula": None},
            [],
            "no answer: probability 0.00 is below threshold=0.5; best guess: none  (0 cells; probability 0.00)",
        ),
    ],
)
def test_other_answers_are_withheld_by_their_plain_probability(record, empty, line):
    below = withheld(record, 0.5)
    assert (below["answer"], below["best_guess"]) == (empty, record["answer"])
    assert answer_line(below) == line
    assert withheld(record, 0.3)["answer"] == record["answer"]
    assert withheld(record, None) == record
    assert withheld({"answer": "", "chosen": None, "cells": []}, 0.9) == {"answer": "", "chosen": None, "cells": []}
