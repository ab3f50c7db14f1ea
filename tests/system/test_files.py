"""Files and folders that are whole or not there, and locks that end with who holds them."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mate_cli.system import files
from mate_cli.system.errors import TRY_AGAIN, UserError
from mate_cli.system.files import append_text, hold, made_once, write_text

ROOT = Path(__file__).parents[2]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """The system refuses to let a file grow beyond so many bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def python(code: str, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    write_text(file, "old")
    with file_size_limit(100), pytest.raises(OSError) as caught:
        write_text(file, "new" * 1000)
    assert caught.value.errno == errno.EFBIG
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("old", ["old", "", None])
def test_a_file_that_cannot_be_appended_to_stays_as_it_was(tmp_path: Path, old: str | None) -> None:
    file = tmp_path / "answers.jsonl"
    if old is not None:
        file.write_text(old)
    with file_size_limit(100), pytest.raises(OSError) as caught:
        append_text(file, "new" * 1000)
    assert caught.value.errno == errno.EFBIG
    assert (file.read_text() if file.exists() else None) == old
    append_text(file, "né\n")
    assert file.read_bytes() == (old or "").encode() + b"n\xc3\xa9\n"


def test_texts_with_separators_of_lines_stay_whole(tmp_path: Path) -> None:
    values = [{"answer": "one\u2028two\x85three"}, {"answer": "four\r\nfive\x1c"}]
    files.write_json_lines(tmp_path / "records.jsonl", values)
    assert files.read_json_lines(tmp_path / "records.jsonl") == values


@pytest.mark.parametrize("line", ["", "null", "5", "[1]", '[["a", 1]]', '{"a": '])
def test_lines_that_are_no_objects_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "records.jsonl").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(ValueError, match=r"no object|Expecting"):
        files.read_json_lines(tmp_path / "records.jsonl")


def test_the_temporary_of_each_process_is_its_own(tmp_path: Path) -> None:
    with files.replacing(tmp_path / "a") as one:
        child = os.fork()
        if child == 0:
            write_text(tmp_path / "a", "child")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert (tmp_path / "a").read_text() == "child"
        one.write_text("parent")
    assert (tmp_path / "a").read_text() == "parent"


def test_the_hash_of_files_is_that_of_their_names_sizes_and_bytes(tmp_path: Path) -> None:
    """Another hash would make every cache and the data of every run another one."""
    contents = {"empty": b"", "small": b"one", "large": bytes(range(256)) * 10_000, "gone": None}  # large: 2.4 parts
    digest = hashlib.blake2b(digest_size=20)
    for name, content in contents.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        digest.update(f"{name}\0{'missing' if content is None else len(content)}\0".encode() + (content or b""))
    assert files.content_hash(tmp_path / name for name in contents) == digest.hexdigest()


def test_a_large_file_is_hashed_in_little_memory(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(32 << 20)
    tracemalloc.start()
    files.content_hash([tmp_path / "large"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_of_what_is_left_the_writer_of_a_file_removes_its_own(tmp_path: Path) -> None:
    gone, other = ended(), os.getppid()
    left, kept = f".errors.html.{gone}.tmp", {f".errors.html.{other}.tmp", f".notes.{gone}.tmp", ".notes.tmp"}
    for name in (left, *kept):
        (tmp_path / name).write_text("half")
    (tmp_path / ".errors.html.1x.tmp").mkdir()  # no number of a process: not of ours
    write_text(tmp_path / "errors.html", "whole")
    assert {path.name for path in tmp_path.iterdir()} == {*kept, ".errors.html.1x.tmp", "errors.html"}


def test_two_that_write_to_one_folder_leave_each_other_alone(tmp_path: Path) -> None:
    with files.replacing(tmp_path / "errors.html") as being_written:
        being_written.write_text("one")
        process = python(WRITER, tmp_path)
        assert process.wait(60) == 0
    assert (tmp_path / "errors.html").read_text() == "one"
    assert len(list(tmp_path.iterdir())) == 1


WRITER = """
from pathlib import Path
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_text
with written_to(Path(".")):
    write_text(Path("errors.html"), "two")
"""

HOLDER = """
import os, time
from pathlib import Path
from mate_cli.system.files import hold
lock = hold(Path("."))
if os.fork():
    print("held", flush=True)
time.sleep(60)
"""


def test_a_folder_is_held_until_its_process_is_killed_even_where_a_child_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = python(HOLDER, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    (child,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    with monkeypatch.context() as patch:
        patch.setattr(files, "_PATIENCE", 0.2)
        with pytest.raises(UserError, match="in use by another process") as caught:
            hold(tmp_path)
    assert caught.value.exit_code == TRY_AGAIN
    process.kill()
    process.wait()
    try:
        os.kill(child, 0)  # it is there, and holds nothing
        hold(tmp_path).release()
    finally:
        os.kill(child, 9)


MAKER = """
import time
from pathlib import Path
from mate_cli.system.files import made_once
with made_once(Path("cache/kind/name"), lambda: print("waiting")) as partial:
    print("making" if partial else "found")
    if partial:
        (partial / "file").write_text("half")
        time.sleep(1)
        (partial / "file").write_text("whole")
print(Path("cache/kind/name/file").read_text())
"""


def test_of_several_processes_one_makes_a_folder_and_the_others_find_it(tmp_path: Path) -> None:
    leftover = tmp_path / "cache" / "kind" / "name.12345678.partial"
    leftover.mkdir(parents=True)
    said = [process.communicate(timeout=60)[0] for process in [python(MAKER, tmp_path) for _ in range(3)]]
    assert sorted(text.count("making") for text in said) == [0, 0, 1]
    assert all(text.endswith("whole\n") for text in said)
    assert sum(text.startswith("waiting\nfound") for text in said) >= 1
    assert [path.name for path in (tmp_path / "cache" / "kind").iterdir()] == ["name"]


def test_a_folder_that_fails_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "kind" / "name"

    def make() -> None:
        with made_once(folder) as partial:
            assert partial is not None
            (partial / "file").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make()
    assert list(folder.parent.iterdir()) == []
