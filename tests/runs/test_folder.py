"""What a run folder makes of broken records, and of another process in it."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from mate_cli.runs.folder import RunFolder, make_folder, read_record
from mate_cli.runs.identity import Identity
from mate_cli.system.errors import UserError
from mate_cli.system.files import write_json


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


@pytest.mark.parametrize(
    ("state", "host", "told"),
    [
        ("running", platform.node(), "killed"),
        ("running", "another", "running"),
        ("done", platform.node(), "done"),
        (None, platform.node(), "unknown"),
    ],
)
def test_a_folder_in_the_way_says_what_became_of_its_training(
    tmp_path: Path, state: str | None, host: str, told: str
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.config_file.touch()
    write_json(folder.environment_file, {"process": {"pid": ended.pid, "host": host}})
    if state is not None:
        folder.set_status(state)
    with pytest.raises(UserError, match=rf"holds a run \(state: {told}\): resume=true goes on"):
        folder.claim(resume=False, overwrite=False, identity=Identity({}))
