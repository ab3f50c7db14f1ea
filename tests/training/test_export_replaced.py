"""Exports where something stands already: nothing is lost, and no export is half of one model."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mate_cli.models import checkpoint
from mate_cli.models.checkpoint import put_back, replaced_whole
from mate_cli.runs.folder import RunFolder
from tests.system.test_files import file_size_limit
from tests.training.exports import FILES, exported, message_of


def test_what_stands_there_is_not_lost(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    (to / "README.md").write_text("mine")
    assert "overwrite=true replaces it" in message_of(selector, to)
    assert (to / "README.md").read_text() == "mine"
    exported(selector, to, overwrite=True)
    assert (to / "README.md").read_text().startswith("---\nlibrary_name")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "README.md").touch()
    (tmp_path / "file").touch()
    for other in ("photos", "file"):
        assert "is not an export; set to=DIR" in message_of(selector, tmp_path / other, overwrite=True)
    for own in (selector.path, selector.best_model):
        assert "is not an export" in message_of(selector, own, overwrite=True)
    (tmp_path / "empty").mkdir()
    assert exported(selector, tmp_path / "empty") == tmp_path / "empty"


@pytest.mark.parametrize("size", [1 << 10, 1 << 19])  # the card does not fit, or the weights
def test_a_full_disk_leaves_nothing_and_no_half(selector: RunFolder, tmp_path: Path, size: int) -> None:
    to = tmp_path / "to"
    with file_size_limit(size):
        message = message_of(selector, to)
    assert f"cannot write to {to} (a limit on the size of files is reached; raise it" in message
    assert message.endswith("; it is as it was before")
    assert list(tmp_path.iterdir()) == []
    exported(selector, to)
    old = {path.name: path.read_bytes() for path in to.iterdir()}
    with file_size_limit(size):
        message_of(selector, to, overwrite=True)
    assert {path.name: path.read_bytes() for path in to.iterdir()} == old


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Stopping:
    """Moves files as ``os.replace`` does, but for one move, at which the disk or the process ends."""

    def __init__(self, at: int, killed: bool) -> None:
        self.left, self.killed = at, killed

    def __call__(self, source: Path, target: Path) -> None:
        self.left -= 1
        if self.left == -1 and self.killed:
            os._exit(9)
        if self.left == -1:
            raise OSError(errno.ENOSPC, "No space left on device")
        source.rename(target)


def replace_whole(to: Path, stopping: Stopping) -> None:
    with pytest.MonkeyPatch.context() as patch, replaced_whole(to, ["calibration.json"]) as staged:
        for name in FILES:
            (staged / name).write_text("new")
        patch.setattr(checkpoint.os, "replace", stopping)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The files of an earlier export, and one of the user's."""
    (tmp_path / "to").mkdir()
    for name in (*FILES, "calibration.json", "notes.txt"):
        (tmp_path / "to" / name).write_text("old")
    return tmp_path / "to"


MOVES = range(2 * len(FILES) + 1)


@pytest.mark.parametrize("at", MOVES)
def test_an_export_that_fails_between_two_files_leaves_the_one_before(at: int, earlier: Path) -> None:
    before = contents(earlier)
    with pytest.raises(OSError, match="No space left"):
        replace_whole(earlier, Stopping(at, killed=False))
    assert contents(earlier) == before
    assert list(earlier.parent.iterdir()) == [earlier]


@pytest.mark.parametrize("at", MOVES)
def test_an_export_that_is_killed_between_two_files_is_of_one_model_and_can_be_put_back(at: int, earlier: Path) -> None:
    before = contents(earlier)
    child = os.fork()
    if child == 0:
        replace_whole(earlier, Stopping(at, killed=True))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len({content for name, content in contents(earlier).items() if name != "notes.txt"}) <= 1
    put_back(earlier)
    assert contents(earlier) == before
    replace_whole(earlier, Stopping(-1, killed=False))
    assert contents(earlier) == dict.fromkeys(FILES, b"new") | {"notes.txt": b"old"}
    assert list(earlier.parent.iterdir()) == [earlier]


def test_an_export_that_was_killed_is_put_back_by_the_next(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    (tmp_path / ".to.replaced").mkdir()
    for name in ("README.md", "config.json"):
        (to / name).rename(tmp_path / ".to.replaced" / name)
    assert "overwrite=true replaces it" in message_of(selector, to)
    assert {path.name for path in to.iterdir()} == FILES
    assert list(tmp_path.iterdir()) == [to]


def test_an_overwritten_export_loses_its_calibration_and_no_other_file(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    (to / "calibration.json").write_text("{}")
    (to / "notes.txt").write_text("mine")
    exported(selector, to, overwrite=True)
    assert {path.name for path in to.iterdir()} == {*FILES, "notes.txt"}
    assert (to / "notes.txt").read_text() == "mine"
    assert list(tmp_path.iterdir()) == [to]
