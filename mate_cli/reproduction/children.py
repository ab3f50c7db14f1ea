"""A command of ours in a process of its own, so that memory, devices and libraries end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mate_cli.system.stopping import SWEPT


def run_child(words: Sequence[str], log: Path) -> int:
    """Run ``mate WORDS`` to its end, with what it prints in ``log``; returns its exit code.

    It has a session of its own: a Ctrl-C reaches this process alone, which hands each on once, so that a training
    saves what it has. So does one whose parent is gone.

    Raises:
        KeyboardInterrupt: this process was asked to stop; the child has ended.
    """
    root = str(Path(__file__).resolve().parents[2])  # the code that runs here, also where it is not installed
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "mate_cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": path, SWEPT: "1"},
            start_new_session=True,
        )
        return _waited(process)


def last_words(log: Path) -> str:
    """What a child said at last: its error, where it had one."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return errors[0] if errors else next((line for line in reversed(lines) if line.strip()), "no word")


def _waited(process: subprocess.Popen[Any]) -> int:
    asked: KeyboardInterrupt | None = None
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt as error:
            asked = error
            process.send_signal(signal.SIGINT)
    if asked is not None:
        raise asked
    return code
