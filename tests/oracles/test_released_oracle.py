"""The released weights can be made again: the questions and the first losses of their first training are recorded."""

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
RECORD = ROOT / "results" / "runs" / "queries" / "mate-minilm-s0-b6b60139"
STEPS = 5
pytestmark = pytest.mark.oracles


def losses(folder: Path) -> list[float]:
    """The losses of the first steps, as far as they are written."""
    if not (folder / "metrics.csv").is_file():
        return []
    with (folder / "metrics.csv").open(newline="") as file:
        return [float(line["loss"]) for line in csv.DictReader(file) if line["loss"]][:STEPS]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The questions that the weights' card names, made of the tables of the shared data."""
    folder = tmp_path_factory.mktemp("released")
    for name in ("sqa", "wtq", "tabfact", "hybridqa", "pretrain"):
        with tarfile.open(DATA / f"{name}.tar.xz") as archive:
            archive.extractall(folder / "data", filter="data")
    words = (
        f"data_dir={folder / 'data'}",
        f"to={folder / 'questions'}",
        "task.queries.questions=44000",
        "encode=false",
    )
    assert main(["prepare", "task=queries", *words, f"paths.cache={folder / 'cache'}"]) == 0
    return folder / "questions"


def test_the_questions_are_those_of_the_record(questions: Path, tmp_path: Path) -> None:
    recorded = json.loads((RECORD / "environment.json").read_text())["data"]
    assert folder_hash("queries", str(questions), tmp_path) == recorded


def test_the_first_steps_are_those_of_the_record(questions: Path, tmp_path: Path) -> None:
    words = ("task=queries", "model=mate", "backbone=minilm", "schedule=released", f"data_dir={questions}")
    words += ("name=again", f"paths.runs={tmp_path}", f"paths.cache={tmp_path / 'cache'}")
    command = [sys.executable, "-m", "mate_cli", "train", *words, "hardware.precision=bf16-mixed"]
    with subprocess.Popen(command, cwd=ROOT) as training:
        while training.poll() is None and len(losses(tmp_path / "queries" / "again")) < STEPS:
            time.sleep(1)
        training.send_signal(signal.SIGINT)
    # 16-bit products of another processor differ by up to a percent or so.
    assert losses(tmp_path / "queries" / "again") == pytest.approx(losses(RECORD), rel=0.02)
