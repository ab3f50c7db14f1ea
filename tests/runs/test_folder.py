"""What a run folder makes of broken records, and of another process in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.runs.folder import make_folder, read_record


@pytest.mark.parametrize("text", [None, "", '{"a": ', "null", "5", "[1]", '[["a", 1]]', '"text"'])
def test_a_record_that_is_broken_is_empty(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "record.json").write_text(text)
    assert read_record(tmp_path / "record.json") == {}


def test_two_processes_may_start_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch = Path.touch

    def touch_and_lose(path: Path) -> None:
        touch(path)
        path.unlink()  # as the other process does

    monkeypatch.setattr(Path, "touch", touch_and_lose)
    assert make_folder(tmp_path / "run", "run folder", "paths.runs")
    assert not make_folder(tmp_path / "run", "run folder", "paths.runs")
