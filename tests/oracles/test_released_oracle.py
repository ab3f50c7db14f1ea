"""The newest trainings on made questions and on statements can be made again: their first losses are recorded.

They started from weights 0.5.0 and 0.4.0, and an earlier grammar made the questions: the history of this repository
has them.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from mate_cli.runs.data import data_hash
from mate_cli.runs.folder import load_run_config

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
RECORDS = ROOT / "results" / "runs"
QUESTIONS, STATEMENTS = RECORDS / "queries/queries-again", RECORDS / "tabfact/mate-upper-column-s0"
WEIGHTS = "weights/mate_tables_weights/model"
NEW, OLD = ("acaf26f", WEIGHTS), ("f63430e", WEIGHTS)  # commits with weights 0.5.0 and 0.4.0, and their folder
GRAMMAR = "acaf26f", "mate_cli", "conf", "hydra_plugins", "pyproject.toml"  # the commit that made the questions
STEPS = 5
pytestmark = [pytest.mark.oracles, pytest.mark.timeout(3600)]  # 60,000 questions are made and encoded


def losses(folder: Path) -> list[float]:
    """The losses of the first steps, as far as they are written."""
    if not (folder / "metrics.csv").is_file():
        return []
    with (folder / "metrics.csv").open(newline="") as file:
        return [float(line["loss"]) for line in csv.DictReader(file) if line["loss"]][:STEPS]


def first_losses(folder: Path, record: Path, before: Path, *words: str) -> list[float]:
    """Train for a few steps with the command of a record, from the weights in ``before``.

    Products on another processor differ, those in 16 bits by up to a percent or so.
    """
    command = json.loads((record / "environment.json").read_text())["command"][1:]
    words += ("backbone=folder", f"backbone.path={before}", f"paths.runs={folder}", f"paths.cache={folder / 'cache'}")
    given = {word.partition("=")[0] for word in words}
    kept = [word for word in command if word.partition("=")[0] not in given]
    with subprocess.Popen([sys.executable, "-m", "mate_cli", *kept, *words], cwd=ROOT) as training:
        try:
            while training.poll() is None and len(losses(folder / record.parent.name / record.name)) < STEPS:
                time.sleep(1)
        finally:
            training.send_signal(signal.SIGINT)
    return losses(folder / record.parent.name / record.name)


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
    """The questions that results/learning names, made of the tables of the shared data by the code of that time."""
    return made_by(extracted(tmp_path_factory.mktemp("grammar"), *GRAMMAR), data, tmp_path_factory.mktemp("released"))


def extracted(to: Path, commit: str, *paths: str) -> Path:
    """Extract files and folders of a commit of this repository; return the folder that they are in."""
    archive = subprocess.run(["git", "archive", commit, *paths], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(to, filter="data")
    return to


def made_by(code: Path, data: Path, folder: Path, number: int = 60000) -> Path:
    """Make questions with the code in a folder, in a process of its own; return the folder of the questions."""
    words = (f"data_dir={data}", f"to={folder / 'questions'}", f"task.queries.questions={number}", "encode=false")
    command = [sys.executable, "-m", "mate_cli", "prepare", "task=queries", *words, f"paths.cache={folder / 'cache'}"]
    subprocess.run(command, cwd=code, check=True, env={**os.environ, "PYTHONPATH": str(code)})
    return folder / "questions"


def test_the_questions_are_those_of_the_record(questions: Path) -> None:
    config = load_run_config(QUESTIONS)
    config.data_dir = str(questions)
    assert data_hash(config) == json.loads((QUESTIONS / "environment.json").read_text())["data"]


def test_the_first_steps_are_those_of_the_record(questions: Path, tmp_path: Path) -> None:
    before = extracted(tmp_path / "before", *NEW) / WEIGHTS
    again = first_losses(tmp_path, QUESTIONS, before, f"data_dir={questions}")
    assert again == pytest.approx(losses(QUESTIONS), rel=0.02)


def test_the_first_steps_of_the_statements_are_those_of_the_record(data: Path, tmp_path: Path) -> None:
    before = extracted(tmp_path / "before", *OLD) / WEIGHTS
    again = first_losses(tmp_path, STATEMENTS, before, f"data_dir={data / 'tabfact'}")
    assert again == pytest.approx(losses(STATEMENTS), rel=0.02)
