"""How a process of ours is stopped from outside: by SIGTERM, or because the one that started it is gone."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mate_cli.errors import Preempted


@contextmanager
def stopping_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does, so that it tidies up; a handler of others stays as it is."""
    is_ours = (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if is_ours:
        signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def stop_with_parent() -> None:
    """Send this process SIGTERM once the one that started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def become_worker() -> None:
    """For a process that works for another of ours: Ctrl-C is the other's to handle, and it ends with the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # forked, it has the handler of the other
    stop_with_parent()


def _stop(number: int, frame: FrameType | None) -> None:
    raise Preempted
