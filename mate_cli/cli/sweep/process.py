"""Run a job in its own process, forward its output and interrupt it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from mate_cli.cli.sweep.jobs import Ending
from mate_cli.system.children import child_environment
from mate_cli.system.errors import TRY_AGAIN
from mate_cli.system.stopping import SWEPT

PROGRAM = (sys.executable, "-m", "mate_cli")


class Processes:
    """The running jobs, each ``mate COMMAND WORDS`` in its own session.

    Ctrl-C therefore reaches the sweep alone, which passes it on once.
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._interrupted = False

    def run(self, number: int, command: str, words: Sequence[str], folder: str) -> Ending:
        """Run a job in ``folder`` and wait for it; its output goes to stdout with its number in front."""
        process = subprocess.Popen(
            [*PROGRAM, command, *words],
            cwd=folder,
            env=child_environment(**{SWEPT: "1"}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._running.add(process)
        if self._interrupted:  # the others know: asked a second time, a training stops without saving its state
            process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        errors: list[str] = []
        listener = threading.Thread(target=_listen, args=(process.stdout, number, errors), daemon=True)
        listener.start()
        code = process.wait()
        self._running.discard(process)
        listener.join(timeout=10)  # a grandchild may keep the pipe open
        return _ending(code, errors)

    def interrupt(self) -> None:
        """Ask every job to stop; the first time it saves its state."""
        self._interrupted = True
        for process in list(self._running):
            process.send_signal(signal.SIGINT)


def run_job(number: int, command: str, words: Sequence[str], folder: str) -> Ending:
    """Run a job on a machine of a cluster; arguments and result are plain."""
    return Processes().run(number, command, words, folder)


def _listen(output: IO[str], number: int, errors: list[str]) -> None:
    for line in output:
        sys.stdout.write(f"[{number}] {line}")
        sys.stdout.flush()
        if line.startswith("error: "):
            errors.append(line.removeprefix("error: ").rstrip())


def _ending(code: int, errors: list[str]) -> Ending:
    if code in (130, -signal.SIGINT) or (code == TRY_AGAIN and not errors):
        return Ending(130, "interrupted")
    if code < 0:
        return Ending(1, f"killed by {signal.Signals(-code).name}")
    return Ending(code, (errors[0] if errors else f"exit code {code}") if code else "")
