"""The one exception that reaches the user as a single line, and how errors are told."""

from __future__ import annotations

import reprlib
import sys
import traceback

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlevel = 3


class UserError(Exception):
    """Bad input: what is wrong, where, and how to mend it, in one line.

    ``cli.main`` prints the message without a traceback and exits with ``exit_code``:
    2 for usage, configuration and data, 1 for what went wrong while running.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


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
    if isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return 130
    if isinstance(error, UserError):
        for line in str(error).splitlines():
            print(f"error: {prefix}{line}", file=sys.stderr)
        return error.exit_code
    lines = str(error).splitlines()
    message = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    hint = "" if debug else " (run again with --debug for the traceback)"
    print(f"error: {prefix}{message}{hint}", file=sys.stderr)
    return 1
