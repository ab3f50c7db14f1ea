"""What the tests of the command line share: a stand-in for the commands, and the lines on stderr."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from mate_cli.cli import diagnosis
from tests.cli.jobs import Jobs


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Jobs:
    monkeypatch.chdir(tmp_path)  # where no run has been made
    monkeypatch.setattr(diagnosis, "missing_inputs", lambda *_: [])  # nor any file that the words name
    seen = Jobs()
    for command in ("train", "predict", "ask"):
        module = types.ModuleType(command)
        module.run = seen.run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, f"mate_cli.commands.{command}", module)
    return seen


@pytest.fixture
def errors(capfd: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    return lambda: capfd.readouterr().err.splitlines()
