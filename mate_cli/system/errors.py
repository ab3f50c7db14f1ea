"""What reaches the user as a single line: ``UserError``, a request to stop, a disk that refuses; and the exit codes."""

from __future__ import annotations

import errno
import reprlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

TRY_AGAIN = 75
"""Exit code where the same command, later, goes on: EX_TEMPFAIL of sysexits.h, for schedulers to queue it again."""

_DISK = {
    errno.ENOSPC: "no space is left on the disk; make room",
    errno.EDQUOT: "the disk quota is used up; make room",
    errno.EFBIG: "a limit on the size of files is reached; raise it (ulimit -f)",
    errno.EROFS: "the file system is read-only; name another folder",
    errno.EACCES: "no permission; name another folder, or get leave to use this one",
    errno.EPERM: "no permission; name another folder, or get leave to use this one",
    errno.EIO: "the disk failed; look at it before anything else",
}

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlevel = 3


class UserError(Exception):
    """Bad input: what is wrong, where, and how to mend it, in one line.

    ``cli.main`` prints the message without a traceback and exits with ``exit_code``:
    2 for usage, configuration and data, 1 for what went wrong while running, ``TRY_AGAIN`` for what passes by itself.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Mistakes:
    """Collects user errors of steps that do not depend on each other, to report them together."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Keep the ``UserError`` that the block raises."""
        try:
            yield
        except UserError as error:
            self.lines += str(error).splitlines()

    def check(self) -> None:
        """
        Raises:
            UserError: there were errors; a line for each.
        """
        if self.lines:
            raise UserError("\n".join(self.lines))


class Preempted(KeyboardInterrupt):
    """SIGTERM: the machine is wanted for something else. Stops what Ctrl-C stops, with another exit code."""


def shown(value: object) -> str:
    """A value out of a file as a message may quote it: on one line, printable, cut where it is long or deep."""
    return _SHORT.repr(value)


def named(text: str) -> str:
    """A name out of a file as a message may quote it: as it is, where it is printable and short."""
    return text if text.isprintable() and len(text) <= _SHORT.maxstring else shown(text)


def report(error: BaseException, prefix: str, debug: bool) -> int:
    """Print an error, one line on stderr for each mistake; returns the exit code."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, Preempted):
        print("stopped by SIGTERM; the same command goes on (mate train: with resume=true or -m)", file=sys.stderr)
        return TRY_AGAIN
    if isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return 130
    if isinstance(error, UserError):
        for line in str(error).splitlines():
            print(f"error: {prefix}{line}", file=sys.stderr)
        return error.exit_code
    print(f"error: {prefix}{_in_a_line(error, debug)}", file=sys.stderr)
    return 1


def disk_reason(error: OSError) -> str:
    """Return why a file cannot be written or read, and what mends it."""
    return _DISK.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__


def _in_a_line(error: BaseException, debug: bool) -> str:
    if isinstance(error, OSError) and error.errno in _DISK:
        return f"{error.filename or 'a file'}: {disk_reason(error)}"
    lines = str(error).splitlines()
    message = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return message + ("" if debug else " (run again with --debug for the traceback)")
