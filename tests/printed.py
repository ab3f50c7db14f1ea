"""What a command printed."""

from __future__ import annotations

import pytest


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line on stderr, an error."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line
