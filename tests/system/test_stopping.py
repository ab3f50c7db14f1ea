"""SIGTERM, parents that are gone, and what is said of a disk that refuses."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from mate_cli.cli.main import main
from mate_cli.system.errors import report
from mate_cli.system.stopping import stop_if_asked

ROOT = Path(__file__).parents[2]


def command(monkeypatch: pytest.MonkeyPatch, act: object) -> None:
    module = types.ModuleType("runs")
    module.run = act  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mate_cli.commands.runs", module)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGHUP, 0), (signal.SIGTERM, 143)])
def test_a_worker_that_has_just_been_forked_says_nothing(
    number: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ended = []

    def act(config: object) -> None:
        worker = multiprocessing.get_context("fork").Process(target=lambda: os.kill(os.getpid(), number))
        worker.start()
        worker.join()
        ended.append(worker.exitcode)

    command(monkeypatch, act)
    default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(number, default)
    try:
        assert main(["runs"]) == 0
        assert signal.getsignal(number) is default
    finally:
        signal.signal(number, before)
    assert ended == [code]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGTERM, 75, "stopped by SIGTERM; the same command goes on (mate train: with resume=true or -m)\n"),
        (signal.SIGHUP, 130, "interrupted\n"),
    ],
)
def test_a_signal_is_one_line_and_an_exit_code_for_schedulers(
    number: signal.Signals,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tidied = []

    def act(config: object) -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            tidied.append(True)

    command(monkeypatch, act)
    before = signal.signal(number, signal.SIG_DFL)  # as in a terminal; under nohup it is ignored
    try:
        assert main(["runs"]) == code
        assert tidied
        assert capsys.readouterr().err == line
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGHUP, 130), (signal.SIGINT, 0)])
def test_a_loop_ends_at_a_signal_that_a_library_swallowed_but_for_ctrl_c(
    number: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(config: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        stop_if_asked()

    command(monkeypatch, act)
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        assert main(["runs"]) == code
        stop_if_asked()  # the program that called the command was not asked
    finally:
        signal.signal(number, before)


def test_lightnings_way_out_of_ctrl_c_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def act(config: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            sys.exit(1)

    command(monkeypatch, act)
    assert main(["runs"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space is left"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "no permission"),
        (errno.EFBIG, "size of files"),
    ],
)
def test_a_disk_that_refuses_is_one_line(number: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(OSError(number, os.strerror(number), "/runs/status.json"), "", debug=False) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("error: /runs/status.json: ")
    assert words in error
    assert "--debug" not in error


PARENT = """
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from os import getpid
from mate_cli.system.stopping import become_worker
pool = ProcessPoolExecutor(2, get_context("fork"), initializer=become_worker)
print(*{future.result() for future in [pool.submit(getpid) for _ in range(20)]}, flush=True)
time.sleep(60)
"""


def test_workers_do_not_outlive_a_killed_process() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", PARENT], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = [int(word) for word in process.stdout.readline().split()]
    assert workers
    assert all(is_there(worker) for worker in workers)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while any(is_there(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_there(pid: int) -> bool:
    """Whether a process lives; one that nobody has asked for its end does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
