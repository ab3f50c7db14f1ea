"""The one exception that reaches the user as a single line."""

from __future__ import annotations


class UserError(Exception):
    """Bad input: what is wrong, where, and how to mend it, in one line.

    ``cli.main`` prints the message without a traceback and exits with ``exit_code``:
    2 for usage, configuration and data, 1 for what went wrong while running.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
