"""Runs in notebooks: the model, and answers on data frames."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from mate_cli.cli.main import main
from mate_cli.commands import export
from mate_cli.config.commands import ExportConfig
from mate_cli.config.hardware import HardwareConfig
from mate_cli.notebook import load_run
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Cell, Table
from tests.training.made_runs import make_bert, make_run

FRAME = pd.DataFrame(
    {"city": ["Alder", "Birch", None], "mayor": ["Ann Lee", "Bob Moe", "Cy"], "people": [1200, 800, None]}
)
QUESTION = "Who is the mayor of Birch?"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    folder = tmp_path_factory.mktemp("runs")
    backbone = ("model=mate", "schedule=smoke", "backbone=folder", f"backbone.path={make_bert(folder / 'bert')}")
    tasks = ("sample", "sqa", "tabfact", "sample_reader")
    return {task: make_run(folder / task, f"task={task}", *backbone) for task in tasks}


@pytest.mark.parametrize("task", ["sample", "sqa", "tabfact"])
def test_a_frame_is_answered_as_the_command_line_answers_its_file(
    task: str, runs: dict[str, RunFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs[task]
    FRAME.to_parquet(tmp_path / "table.parquet", index=False)
    words = (f"run={run.path}", f"table={tmp_path / 'table.parquet'}", f"question={QUESTION}", "hardware=cpu")
    assert main(["predict", *words, "top=4", "output=json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    found = load_run(run.path).answer(QUESTION, FRAME, top=4)
    assert {**found, "table": ""} == {**expected, "table": ""}


@pytest.mark.parametrize("task", ["sample", "sqa", "tabfact"])
def test_an_exported_run_answers_as_the_run(task: str, runs: dict[str, RunFolder], tmp_path: Path) -> None:
    export.run(ExportConfig(str(runs[task].path), str(tmp_path / "to")))
    one, other = load_run(runs[task].path), load_run(tmp_path / "to")
    assert other.answer(QUESTION, FRAME) == one.answer(QUESTION, FRAME)
    types = torch.zeros(1, 9, 7, dtype=torch.long)
    types[0, 4:, 0], types[0, 4:, 1], types[0, 4:, 2] = 1, torch.arange(1, 6), 1
    batch = {"input_ids": torch.arange(2000, 2009)[None], "token_type_ids": types}
    with torch.no_grad():
        states = [run.model.get_submodule("tapas")(**batch).last_hidden_state for run in (one, other)]
    assert torch.equal(*states)
    assert not other.model.training


def test_a_table_of_ours_is_taken_as_it_is(runs: dict[str, RunFolder]) -> None:
    rows = [[Cell(text) for text in row] for row in (("Alder", "Ann Lee"), ("Birch", "Bob Moe"))]
    table = Table("own", (Cell("city"), Cell("mayor")), tuple(map(tuple, rows)))
    record = load_run(runs["sample"].path).answer(QUESTION, table, top=9)
    assert record["table"] == "own"
    assert {cell["text"] for cell in record["cells"]} == {"Alder", "Ann Lee", "Birch", "Bob Moe"}


def test_a_path_is_read_as_the_command_line_reads_it(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    run, file = load_run(runs["sample"].path), tmp_path / "towns.csv"
    file.write_text("city;mayor\nAlder;Ann Lee\nBirch;Bob Moe\n")
    frame = pd.read_csv(file, sep=";")
    expected = run.answer(QUESTION, frame)
    for path in (file, str(file)):
        found = run.answer(QUESTION, path)
        assert found["cells"] == expected["cells"]
        assert "separator=;" in found["warnings"][0]
        assert found["warnings"][1:] == expected["warnings"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": {"city": ["Alder"]}}, "table: cannot ask a dict; give a pandas DataFrame, the path of a file, or"),
        ({"table": [["city"], ["Alder"]]}, "table: cannot ask a list"),
        ({"table": FRAME["city"]}, "table: cannot ask a Series"),
        ({"table": None}, "table: cannot ask a NoneType"),
        ({"table": "nope.csv"}, "nope.csv: cannot be read"),
        ({"table": Path(__file__).parent}, "this is a folder; name a file, or give open_folder"),
        ({"before": "Who?"}, "before: must be a list of questions, first to last, not a str"),
        ({"before": None}, "before: must be a list of questions, first to last, not a NoneType"),
        ({"before": [" "]}, "before is empty: write what is asked"),
        ({"threshold": 70}, "threshold=70: must be a probability, between 0 and 1, or None"),
        ({"threshold": "0.7"}, "threshold=0.7: must be a probability"),
        ({"top": 0}, "top=0: must be a whole number, at least 1"),
        ({"question": ""}, "question is empty: write what is asked"),
        ({"question": " \n"}, "question is empty: write what is asked"),
        ({"question": None}, "question: must be a text, not a NoneType"),
    ],
)
def test_a_wrong_argument_is_one_line(arguments: dict[str, Any], message: str, runs: dict[str, RunFolder]) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load_run(runs["sqa"].path).answer(**{"question": QUESTION, "table": FRAME, **arguments})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hardware": "cpuu"}, "unknown hardware 'cpuu': did you mean cpu?"),
        ({"hardware": ["cpu"]}, "unknown hardware '['cpu']': did you mean cpu?"),
        ({"max_tokens": "512"}, "max_tokens='512': must be a whole number, at least 16"),
        ({"max_tokens": 8}, "max_tokens=8: must be a whole number, at least 16"),
        ({"statements": True}, "statements=True chooses a part of the released model; leave it out for "),
    ],
)
def test_a_wrong_argument_of_loading_is_one_line(
    arguments: dict[str, Any], message: str, runs: dict[str, RunFolder]
) -> None:
    with pytest.raises(UserError) as error:
        load_run(runs["sample"].path, **arguments)
    assert message in str(error.value)


def test_hardware_is_named_as_on_the_command_line(runs: dict[str, RunFolder]) -> None:
    named, made = (
        load_run(runs["sample"].path, hardware=it) for it in ("cpu", HardwareConfig("cpu", "cpu", 1, micro_batch=16))
    )
    assert named.answer(QUESTION, FRAME) == made.answer(QUESTION, FRAME)
    assert named.predictor.hardware == made.predictor.hardware


def test_the_package_has_the_entries_and_imports_nothing_heavy_for_its_name() -> None:
    code = (
        "import sys, mate_cli; assert 'torch' not in sys.modules; from mate_cli import load_run, open_folder;"
        "import mate_cli.notebook as n; assert (load_run, open_folder) == (n.load_run, n.open_folder);"
        "assert not hasattr(mate_cli, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_conversation_goes_on(runs: dict[str, RunFolder]) -> None:
    """As ``Answerer.converse``: the answer to the first question is told with the second."""
    run = load_run(runs["sqa"].path)
    record = run.answer("Which?", FRAME, before=["Who are the mayors?"])
    assert record["question"] == "Which?"
    assert record["cells"]
    with pytest.raises(UserError, match="was not trained on conversations"):
        load_run(runs["sample"].path).answer("Which?", FRAME, before=["Who?"])


def test_what_does_not_answer_is_one_line(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    reader = load_run(runs["sample_reader"].path)
    assert reader.model.config.kind == "span_reading"
    with pytest.raises(UserError, match="answers nothing by itself"):
        reader.answer(QUESTION, FRAME)
    with pytest.raises(UserError, match="no rows"):
        load_run(runs["sample"].path).answer(QUESTION, FRAME.iloc[:0])
    with pytest.raises(UserError, match="is not a run folder"):
        load_run(tmp_path)
    (tmp_path / "config.yaml").write_bytes(runs["sample"].config_file.read_bytes())
    with pytest.raises(UserError, match="has no model yet; train it to the end with resume=true"):
        load_run(tmp_path)


def test_a_vocabulary_that_does_not_fit_is_one_line(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    to = tmp_path / "to"
    export.run(ExportConfig(str(runs["sample"].path), str(to)))
    lines = (to / "vocab.txt").read_text(encoding="utf-8").split("\n")
    (to / "vocab.txt").write_text("\n".join(lines[:-500]), encoding="utf-8")
    with pytest.raises(UserError, match=r"has 30023 pieces, the model's word embeddings have 30522 rows"):
        load_run(to)
