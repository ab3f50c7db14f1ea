"""The newest trainings on made questions and on statements can be made again: their first losses are recorded."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from mate_cli.cli.main import main
from mate_cli.runs.data import folder_hash

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
RECORDS = ROOT / "results" / "runs"
QUERIES, STATEMENTS = "queries/queries-sums", "tabfact/mate-upper-column-s0"
STEPS = 5
pytestmark = pytest.mark.oracles


def losses(folder: Path) -> list[float]:
    """The losses of the first steps, as far as they are written."""
    if not (folder / "metrics.csv").is_file():
        return []
    with (folder / "metrics.csv").open(newline="") as file:
        return [float(line["loss"]) for line in csv.DictReader(file) if line["loss"]][:STEPS]


def first_losses(folder: Path, task: str, *words: str) -> list[float]:
    """Train for a few steps with the schedule of the released weights.

    16-bit products of another processor differ by up to a percent or so.
    """
    command = [sys.executable, "-m", "mate_cli", "train", f"task={task}", "model=mate", "schedule=released", *words]
    command += ["name=again", f"paths.runs={folder}", f"paths.cache={folder / 'cache'}"]
    with subprocess.Popen([*command, "hardware.precision=bf16-mixed"], cwd=ROOT) as training:
        while training.poll() is None and len(losses(folder / task / "again")) < STEPS:
            time.sleep(1)
        training.send_signal(signal.SIGINT)
    return losses(folder / task / "again")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared data, side by side."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("sqa", "wtq", "tabfact", "hybridqa", "pretrain"):
        with tarfile.open(DATA / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """The questions that results/learning names, made of the tables of the shared data."""
    folder = tmp_path_factory.mktemp("released")
    words = (f"data_dir={data}", f"to={folder / 'questions'}", "task.queries.questions=100000", "encode=false")
    assert main(["prepare", "task=queries", *words, f"paths.cache={folder / 'cache'}"]) == 0
    return folder / "questions"


def test_the_questions_are_those_of_the_record(questions: Path, tmp_path: Path) -> None:
    recorded = json.loads((RECORDS / QUERIES / "environment.json").read_text())["data"]
    assert folder_hash("queries", str(questions), tmp_path) == recorded


def test_the_first_steps_are_those_of_the_record(questions: Path, tmp_path: Path) -> None:
    words = ("backbone=minilm", "model.positions=column", "task.qa.difference=true", f"data_dir={questions}")
    again = first_losses(tmp_path, "queries", *words)
    assert again == pytest.approx(losses(RECORDS / QUERIES), rel=0.02)


def test_the_first_steps_of_the_statements_are_those_of_the_record(data: Path, tmp_path: Path) -> None:
    again = first_losses(tmp_path, "tabfact", "backbone=mate_minilm", "steps=2790", f"data_dir={data / 'tabfact'}")
    assert again == pytest.approx(losses(RECORDS / STATEMENTS), rel=0.02)
