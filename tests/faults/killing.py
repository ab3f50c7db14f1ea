"""Commands that are killed with SIGKILL: at an operation on files, while one is under way, after some time."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
WHOM = ("first", "all", "children")


@dataclass(frozen=True)
class Kill:
    """When and whom.

    Attributes:
        operation: before the so-manieth change to the files below the working folder, ``delay`` seconds later; None:
            ``delay`` seconds after the start.
        whom: the first process, which leaves those that it started to themselves; all of them; or all but the first.
    """

    operation: int | None
    delay: float
    whom: str

    @property
    def kind(self) -> str:
        return "time" if self.operation is None else "writing" if self.delay else "operation"


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: its exit code, negative where it was killed; operations: the changes that it made; children: the processes
            that it had when it was killed.
    """

    code: int
    operations: int
    seconds: float
    log: str
    children: list[int]


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str], kill: Kill | None = None) -> Ended:
    """``mate WORDS`` in ``folder``, in a fork of this process, which has imported everything already."""
    seen, ready = os.pipe()
    log, started = folder.with_name(f"{folder.name}.log"), time.monotonic()
    log.touch()
    count = mmap.mmap(-1, 8)  # shared with the forks
    pid = os.fork()
    if pid == 0:
        os.close(seen)
        counted = _Counted(f"{folder}{os.sep}", count, kill, ready)
        _be_mate(words, folder, environment, log, counted)
    os.close(ready)
    children = [] if kill is None else _killed(pid, seen, kill)
    os.close(seen)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    said = log.read_text(errors="replace")
    return Ended(code, struct.unpack("q", count)[0], time.monotonic() - started, said, children)


class _Counted:
    """Counts the changes that a command is about to make to the files below a folder, and tells when it is the one."""

    def __init__(self, folder: str, count: mmap.mmap, kill: Kill | None, ready: int) -> None:
        self.folder, self.count, self.kill, self.ready = folder, count, kill, ready
        self.process = os.getpid()

    def watch(self) -> None:
        """From now on, in this process."""
        self.process = os.getpid()

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        """For ``sys.addaudithook``; forks that only work for a command are not watched."""
        if os.getpid() != self.process or not _is_change(event, arguments, self.folder):
            return
        number = struct.unpack("q", self.count)[0] + 1
        self.count[:] = struct.pack("q", number)
        if self.kill is not None and number == self.kill.operation:
            os.write(self.ready, b"now")
            time.sleep(0 if self.kill.delay else 2)  # the kill comes before the change, or some time after


def _is_change(event: str, arguments: tuple[object, ...], folder: str) -> bool:
    if event == "open":
        flags = arguments[2]
        if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
            return False
    elif event not in _CHANGES:
        return False
    path = arguments[0]
    return isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(folder)


def _be_mate(words: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, counted: _Counted) -> None:
    os.chdir(folder)
    sys.addaudithook(counted.hook)

    class Forked:
        """In the place of ``Popen``: a step of mate reproduce as a fork, whose imports are there."""

        def __init__(self, command: Sequence[str], *, stdout: Any, env: Mapping[str, str], **_: Any) -> None:
            self.pid = os.fork()
            if self.pid == 0:
                counted.watch()
                _run(command[3:], env, stdout.fileno())

        def wait(self) -> int:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

        def send_signal(self, number: int) -> None:
            os.kill(self.pid, number)

    from mate_cli.reproduction import carry_out

    named = {name: getattr(subprocess, name) for name in ("DEVNULL", "STDOUT")}
    carry_out.subprocess = SimpleNamespace(Popen=Forked, **named)  # type: ignore[assignment]
    _run(words, environment, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))


def _run(words: Sequence[str], environment: Mapping[str, str], out: int) -> None:
    """Be ``mate WORDS`` to the end of this process."""
    code = 99
    try:
        from hydra.core.global_hydra import GlobalHydra

        from mate_cli.cli.main import main

        os.setsid()
        os.environ.update(environment)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        GlobalHydra.instance().clear()
        code = main(list(words))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _killed(pid: int, seen: int, kill: Kill) -> list[int]:
    """Kill at the moment; the processes that the command had started, none where it came to its end before."""
    if kill.operation is not None and os.read(seen, 3) != b"now":
        return []
    if kill.operation is None:
        time.sleep(kill.delay)
    children = _descendants(pid)  # this takes its time too
    if kill.operation is not None:
        time.sleep(kill.delay)
    chosen = {"first": [pid], "all": [pid, *children], "children": children or [pid]}[kill.whom]
    for own in chosen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(own, signal.SIGKILL)
    return children


def wait_for_the_end_of(pids: Iterable[int]) -> None:
    """Of processes whose first one is gone: they must end by themselves."""
    deadline = time.monotonic() + 60
    while left := [pid for pid in pids if _is_there(pid)]:
        assert time.monotonic() < deadline, f"processes {left} outlived the one that started them"
        time.sleep(0.05)


def _is_there(pid: int) -> bool:
    return (_stat(pid) or ["Z"])[0] != "Z"


def _descendants(pid: int) -> list[int]:
    """All processes that a process started, and those that they started."""
    known = {own: _stat(own) for own in map(int, filter(str.isdigit, os.listdir("/proc")))}
    found: list[int] = []
    new = [pid]
    while new:
        new = [own for own, stat in known.items() if stat and int(stat[1]) in new]
        found += new
    return found


def _stat(pid: int) -> list[str] | None:
    """State, parent, ... of a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
