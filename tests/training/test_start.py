"""Trainings that are refused at their start, before they cost anything, and leave everything as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mate_cli.cli.main import main
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.identity import Identity
from tests.training.conftest import TINY

Mate = Callable[..., int]

TOWNS = "city,mayor\nOslo,Ann\nRome,Bo\nBern,Cy\nLima,Di\n"
ASKED = "question,table,answer\n" + "".join(
    f"Who is the mayor of {city}?,towns.csv,{mayor}\n"
    for city, mayor in (line.split(",") for line in TOWNS.split()[1:])
)
OWN = ("task=own", "data_dir=data", *TINY, "hardware.workers=0", "name=run")


@pytest.fixture
def own(mate: Mate, tmp_path: Path) -> Mate:
    """Call ``mate train`` on four questions about a table, in an empty folder; one run is named run."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "towns.csv").write_text(TOWNS)
    for split in ("train", "dev"):
        (data / f"{split}.csv").write_text(ASKED)
    return lambda *words: mate("train", *OWN, *words)


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize("name", [".", "..", "../x", "a/../../x", "/tmp/x", "a//b"])
def test_a_name_is_no_place_elsewhere(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", f"name={name}"]) == 2
    assert f"name={name}: write a name below paths.runs" in refused(capsys)


@pytest.mark.parametrize("words", [(), ("overwrite=true",)])
def test_a_folder_of_other_files_is_not_emptied(
    words: tuple[str, ...], own: Mate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "runs" / "own" / "run"
    (folder / "chapters").mkdir(parents=True)
    (folder / "thesis.txt").write_text("years of work")
    (folder / "chapters" / "1.txt").write_text("It was")
    (folder / ".notes.tmp").write_text("on paper")
    assert own(*words) == 2
    assert "run holds other files than a run's" in refused(capsys)
    assert (folder / "thesis.txt").read_text() == "years of work"
    assert (folder / "chapters" / "1.txt").read_text() == "It was"
    assert (folder / ".notes.tmp").read_text() == "on paper"


def test_what_a_killed_training_left_is_no_other_file_and_is_removed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = [f".config.yaml.{process.pid}.tmp", f".best.{process.pid}.tmp", ".last.ckpt.tmp"]
    for number, name in enumerate(left):
        folder = RunFolder(tmp_path / str(number))
        folder.path.mkdir()
        (folder.path / name).mkdir() if "best" in name else (folder.path / name).touch()
        if number:
            folder.config_file.touch()
        folder.claim(resume=False, overwrite=True, identity=Identity({}))
        folder.release()
        assert not (folder.path / name).exists()


def test_what_a_link_in_a_run_leads_to_is_kept(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").write_text("a")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best").symlink_to(tmp_path / "kept")
    RunFolder(tmp_path / "run").clear()
    assert list((tmp_path / "run").iterdir()) == []
    assert (tmp_path / "kept" / "a").read_text() == "a"


def test_without_a_question_to_validate_on(own: Mate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data" / "wide.csv").write_text(f"{','.join('abcdefgh' * 100)}\n{'Ann,' * 799}Bo\n")
    (tmp_path / "data" / "dev.csv").write_text("question,table,answer\nWho?,wide.csv,Bo\n")
    assert own() == 2
    assert "dev: no question can be read" in refused(capsys)
    assert not (tmp_path / "runs" / "own" / "run").exists()


def test_without_the_split_to_report_on(own: Mate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert own("task.report_split=test") == 2
    assert "data_dir=data: no test.csv or test.tsv (splits found: train, dev)" in refused(capsys)
    assert not (tmp_path / "runs" / "own" / "run").exists()


def test_weights_that_are_not_finite_are_not_saved(
    own: Mate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = "task.schedules.smoke"
    assert own("steps=1", "lr=3e38", f"{schedule}.head_lr=3e38", f"{schedule}.warmup=0") == 1
    error = refused(capsys)
    assert "step 1: the weights " in error
    assert "are not finite and are not saved; train with a smaller lr" in error
    assert not (tmp_path / "runs" / "own" / "run" / "best").exists()
