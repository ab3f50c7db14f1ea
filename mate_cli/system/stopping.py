"""How a process of ours is stopped from outside: by a signal, or because the one that started it is gone."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mate_cli.system.errors import Preempted

SWEPT = "MATE_SWEPT"
"""Environment variable of jobs that a sweep started: they stop when the sweep is gone."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, a scheduler's, the end of the terminal
_caught: list[int] = []  # those of them that this process got, in order


@contextmanager
def stopping_tidily() -> Iterator[None]:
    """Let SIGTERM and the end of the terminal end what runs as Ctrl-C does; a handler of others stays as it is.

    A forked worker that has not yet chosen how to stop (``become_worker``) leaves the terminal's signals to this
    process, and ends at SIGTERM, in both cases without a word.
    """
    process = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() == process:
            _caught.append(number)
            raise swallowed_request()
        if number == signal.SIGTERM:
            os._exit(128 + number)

    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS if is_main}
    ours = [number for number, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
        _caught.clear()  # a program that called this one goes on


def swallowed_request() -> KeyboardInterrupt:
    """Return what a request to stop had raised, where a library says only that it was interrupted."""
    return Preempted() if signal.SIGTERM in _caught else KeyboardInterrupt()


def pending_request() -> int | None:
    """Return the first signal that asked this process to stop and did not: libraries swallow what it raises in imports.

    None if there was none.
    """
    return _caught[0] if _caught else None


def stop_if_asked() -> None:
    """Stop now if a library swallowed SIGTERM or the end of the terminal; long loops call it.

    Not Ctrl-C, which ``mate ask`` takes for the end of one answer, and which a user can press again.

    Raises:
        KeyboardInterrupt: a signal asked for it.
    """
    if set(_caught) - {signal.SIGINT}:
        raise swallowed_request()


def stop_with_parent() -> None:
    """Send this process SIGTERM once the one that started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def has_ended(pid: int) -> bool:
    """Return whether no process of this machine has that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


def become_worker() -> None:
    """For a process that works for another of ours: Ctrl-C is for the other to handle, and it ends with the other."""
    leave_stopping_to_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # what it gets once the other is gone
    stop_with_parent()


def leave_stopping_to_parent() -> None:
    """Ignore what asks to stop: terminals and schedulers ask the whole group, and one process of it answers."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _caught.clear()
