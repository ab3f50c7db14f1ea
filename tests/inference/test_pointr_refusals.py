"""Runs and options that make no PointR pipeline: one line each, and nothing written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.inference.conftest import copied_run
from tests.inference.test_pointr import Mate, one_line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("selector={reader}", "reader={reader}"), "is no selector; give it as reader=..."),
        (("selector={selector}", "reader={selector}"), "is no reader; give it as selector=..."),
        (("selector={other}", "reader={reader}"), "was trained on sample, reader="),
        (("selector=nowhere", "reader={reader}"), "nowhere: there is no such folder; mate runs lists"),
        (("selector={selector}", "reader=nowhere"), "nowhere: there is no such folder; mate runs lists"),
        (("selector={untrained}", "reader={reader}"), "has no model yet"),
        (("selector={selector}", "reader={reader}", "top=0"), "top=0: must be at least 1"),
        (("selector=tfidf_cell", "reader={reader}", "top=3"), "selector=tfidf_cell has none"),
        (("selector={selector}", "reader={reader}", "to=taken"), "to=taken: this is a file; name another folder"),
        (("selector={selector}", "reader={reader}", "to={selector}"), "is the folder of a run"),
        (("selector={selector}", "reader={reader}", "to=stale"), "stale holds the results of other runs"),
        (("selector={selector}",), "selector given: write run="),
        (("run={selector}", "reader={reader}"), "run and reader given: write run="),
        (("run={selector}", "to=x"), "to belongs to selector and reader"),
        (("selector={selector}", "reader={reader}", "blank_question=true"), "blank_question belongs to run"),
        (("selector={selector}", "reader={reader}", "expansion=all"), "expansion belongs to run"),
    ],
)
def test_what_does_not_go_together(
    mate: Mate, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    places = {"selector": runs / "hybridqa" / "selector", "reader": runs / "hybridqa_reader" / "reader"}
    places["other"] = copied_run(places["selector"], tmp_path / "other", "format: hybridqa", "format: sample")
    places["untrained"] = tmp_path / "untrained"
    places["untrained"].mkdir()
    shutil.copy(places["selector"] / "config.yaml", places["untrained"])
    (tmp_path / "taken").write_text("")
    (tmp_path / "stale").mkdir()
    (tmp_path / "stale" / "pipeline.json").write_text('{"selector": "elsewhere"}')
    before = sorted(tmp_path.rglob("*"))
    assert mate("evaluate", "hardware=cpu", *(word.format_map(places) for word in words)) == 2
    assert message in one_line(capsys)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_reader_does_not_answer_alone(
    mate: Mate, stages: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("a\nb\n")
    assert mate("predict", stages[1].replace("reader=", "run=", 1), "table=t.csv", "question=why") == 2
    assert "give it as reader=..." in one_line(capsys)
