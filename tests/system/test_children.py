"""Children of ours run this code, whatever lies in the folder that a user calls us in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mate_cli.bench import memory
from mate_cli.cli.sweep.jobs import Ending
from mate_cli.cli.sweep.process import run_job
from mate_cli.reproduction.carry_out import run_child
from mate_cli.system.children import child_environment

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules that are named as others, and say so where they are imported."""
    for name in ("difflib", "mate_cli"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_child_imports_this_code_and_no_module_from_the_current_folder() -> None:
    code = "import difflib, mate_cli; print(mate_cli.__file__)"
    called = [sys.executable, "-c", code]
    done = subprocess.run(called, env=child_environment(), capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(ROOT)


def test_nor_do_the_jobs_of_a_sweep_the_steps_of_mate_reproduce_and_the_server_that_measures(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_job(1, "--version", [], str(folder)) == Ending()
    assert run_child(["--version"], folder / "log") == 0
    given: list[dict[str, str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: given.append(env))
    memory._start()
    assert given == [child_environment(MALLOC_MMAP_THRESHOLD_=given[0]["MALLOC_MMAP_THRESHOLD_"])]


def test_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    environment: dict[str, Any] = child_environment(NAME="value")
    assert environment["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "/mine"]
    assert environment["NAME"] == "value"
    assert environment["PATH"] == os.environ["PATH"]
