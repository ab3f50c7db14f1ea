"""`mate reproduce` with real trainings of two steps, stopped in the middle and started again."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mate_cli.runs.folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
WORDS = ("what=ratio", "only=1:1", "schedule=smoke", "backbone=tiny", "words=hardware=cpu")


def start(folder: Path) -> subprocess.Popen[str]:
    """In an empty folder, with a cache of its own in it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MATE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-u", "-m", "mate_cli", "reproduce", *WORDS]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_stopped_in_the_middle_it_does_only_the_rest(tmp_path: Path) -> None:
    first = start(tmp_path)
    assert first.stdout is not None
    for line in first.stdout:
        if line.startswith("[2/2] train mlm mate > hybridqa mate"):
            first.terminate()
            break
    first.stdout.read()
    assert first.wait() == 75
    (parent,) = (tmp_path / "runs" / "mlm").iterdir()
    before = RunFolder(parent).status()
    assert before["state"] == "done"

    second = start(tmp_path)
    shown, _ = second.communicate()
    assert second.returncode == 0, shown
    assert "[1/1] train mlm mate > hybridqa mate, seed 0" in shown
    assert RunFolder(parent).status() == before
    with (tmp_path / "reproduced" / "ratio.csv").open() as file:
        rows = {line["column"]: line for line in csv.DictReader(file)}
    assert rows["Hits@1"]["n"] == "1"
    assert 0 <= float(rows["Hits@1"]["median"]) <= 100
    assert rows["Hits@1"]["paper"] == "80.1"
