"""Signals at places where no step follows: in the last validation, and a second one."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate_cli.training.callbacks import ProgressReport
from tests.training.conftest import TINY

Mate = Callable[..., int]

RUN = (*TINY, "name=run", "hardware.workers=0")


@pytest.fixture(autouse=True)
def terminal() -> Any:
    """Signals do what they do in a terminal."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_last_validation_can_be_stopped_and_goes_on(
    mate: Mate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            ProgressReport, "on_validation_start", lambda *_: signal.raise_signal(signal.SIGINT), raising=False
        )
        assert mate("train", *RUN) == 130
    run = tmp_path / "runs" / "sample" / "run"
    status = json.loads((run / "status.json").read_text())
    assert (status["state"], status["step"]) == ("interrupted", 2)
    capsys.readouterr()
    assert mate("train", *RUN, "resume=true") == 0
    assert "goes on after step 2 of 2" in capsys.readouterr().out.splitlines()
    assert json.loads((run / "status.json").read_text())["state"] == "done"


def test_a_second_signal_of_a_scheduler_asks_it_to_start_again_too(mate: Mate, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(*_: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(ProgressReport, "on_train_batch_start", twice, raising=False)
    assert mate("train", *RUN) == 75


def test_a_signal_that_a_library_swallowed_stops_training_at_its_first_step(
    mate: Mate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import may catch whatever is raised within it."""

    def swallow(*_: Any, **__: Any) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(ProgressReport, "setup", swallow, raising=False)
        assert mate("train", *RUN) == 75
    status = json.loads((tmp_path / "runs" / "sample" / "run" / "status.json").read_text())
    assert (status["state"], status["step"]) == ("interrupted", 1)
    assert mate("train", *RUN, "resume=true") == 0
