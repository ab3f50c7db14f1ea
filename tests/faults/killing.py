"""Commands that are killed with SIGKILL: at an operation on files, while one is under way, after some time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEADLINE = 600.0
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


@dataclass(frozen=True)
class Kill:
    """When and whom.

    Attributes:
        operation: before the so-manieth change to the files below the working folder, ``delay`` seconds later; None:
            ``delay`` seconds after the start.
        whole: with all processes that it started, which else are left to themselves.
    """

    operation: int | None
    delay: float
    whole: bool

    @property
    def kind(self) -> str:
        return "time" if self.operation is None else "writing" if self.delay else "operation"


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, negative where it was killed; the changes it made, and how long it took."""

    code: int
    operations: int
    seconds: float
    log: str


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str], kill: Kill | None = None) -> Ended:
    """``mate WORDS`` in a fork of this process, which has imported everything already, in ``folder``."""
    seen, ready = os.pipe()
    log, started = folder.with_name(f"{folder.name}.log"), time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(seen)
        _be_mate(words, folder, environment, log, ready, None if kill is None else kill.operation)
    os.close(ready)
    counted = _killed_or_done(pid, seen, kill)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    wait_for_end_of(pid)
    return Ended(code, counted, time.monotonic() - started, log.read_text(errors="replace"))


def wait_for_end_of(session: int) -> None:
    """Until no process of a session is left: those of a killed one must end by themselves."""
    deadline = time.monotonic() + 30
    while left := members(session):
        assert time.monotonic() < deadline, f"processes {left} outlived the one that started them"
        time.sleep(0.05)


def members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def descendants(pid: int) -> list[int]:
    """All processes that a process started, and those that they started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def _be_mate(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, ready: int, operation: int | None
) -> None:
    code = 99
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.update(environment)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        count = _count_changes(str(folder), lambda number: _stop_at(number, operation, ready))
        from mate_cli.cli import main

        code = main(list(words))
        os.write(ready, f"{count()}\n".encode())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _stop_at(number: int, operation: int | None, ready: int) -> None:
    """Tell the one that kills; it has come to it before the operation is done, or a moment after."""
    if number == operation:
        os.write(ready, b"now\n")
        time.sleep(0.002)


def _count_changes(folder: str, act: Callable[[int], None]) -> Callable[[], int]:
    """Call ``act`` with the number of each change to the files below a folder that this process is about to make."""
    own, count = os.getpid(), 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if os.getpid() == own and _is_change(event, arguments, folder):
            count += 1
            act(count)

    sys.addaudithook(hook)
    return lambda: count


def _is_change(event: str, arguments: tuple[object, ...], folder: str) -> bool:
    if event == "open":
        flags = arguments[2]
        if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
            return False
    elif event not in _CHANGES:
        return False
    path = arguments[0]
    return isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(folder)


def _killed_or_done(pid: int, seen: int, kill: Kill | None) -> int:
    """Kill at the moment; the number of changes where it came to its end."""
    with open(seen, "rb", buffering=0) as pipe:
        if kill is not None and kill.operation is None:
            time.sleep(kill.delay)
            _kill(pid, kill.whole)
        told = pipe.readline()
        if told == b"now\n" and kill is not None:
            time.sleep(kill.delay)
            _kill(pid, kill.whole)
            told = pipe.readline()
    return int(told or 0)


def _kill(pid: int, whole: bool) -> None:
    (os.killpg if whole else os.kill)(pid, signal.SIGKILL)


def start(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """``mate WORDS`` as a process of its own, whose children are such too."""
    with folder.with_name(f"{folder.name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "mate_cli", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
