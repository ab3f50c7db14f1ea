"""Places that cannot be written are named before the work, with the other mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mate_cli.cli.main import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("city,people\nRome,3\nOslo,1\n")
    (tmp_path / "questions.csv").write_text("question\nwhich city?\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("predict table=table.csv questions=questions.csv to=.", "to=.: this is a folder; name another file"),
        ("predict table=table.csv questions=questions.csv to=table.csv/a.csv", "is a file, not a folder"),
        ("report to=.", "to=.: this is a folder; name another file"),
        ("analyze to=table.csv", "to=table.csv: this is a file; name another folder"),
        ("prepare task=sample to=table.csv/counts", "is a file, not a folder; name another folder"),
        ("bench to=table.csv", "to=table.csv: this is a file; name another folder"),
        ("reproduce what=table6 to=table.csv", "to=table.csv: this is a file; name another folder"),
        ("export run=. to=table.csv", "to=table.csv: this is a file; name another folder"),
        ("evaluate selector=. reader=. to=table.csv", "to=table.csv: this is a file; name another folder"),
        (f"analyze to={'long' * 100}", "File name too long"),
    ],
)
def test_a_place_that_cannot_be_written(words: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert any(line in error for error in capsys.readouterr().err.splitlines())


def test_answers_do_not_take_the_place_of_their_questions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.link(folder / "questions.csv", folder / "same.csv")
    named = {
        "questions.csv": "questions",
        "./questions.csv": "questions",
        "same.csv": "questions",
        "table.csv": "table",
    }
    for name, key in named.items():
        assert main(["predict", "table=table.csv", "questions=questions.csv", f"to={name}"]) == 2
        line = f"error: to={name}: this is the file of {key}; name another file"
        assert line in capsys.readouterr().err.splitlines()
    assert (folder / "questions.csv").read_text() == "question\nwhich city?\n"


def test_a_folder_that_may_not_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != folder)  # root may write to any folder
    assert main(["analyze", "to=new/analysis"]) == 2
    assert capsys.readouterr().err == f"error: to=new/analysis: {folder} cannot be written to; name another folder\n"
