"""Curves outside the run folder: Weights & Biases without a key, TensorBoard; each job a run of its own."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.training.conftest import TINY

Mate = Callable[..., int]


@pytest.fixture(autouse=True)
def _wandb_reads_the_environment_anew() -> Iterator[None]:
    """It does so once in a process: the mode of one test would be the next one's too."""
    yield
    wandb: Any = sys.modules.get("wandb")
    if wandb is not None:
        wandb.teardown()


def losses(folder: Path) -> list[float]:
    with (folder / "metrics.csv").open() as file:
        return [float(row["loss"]) for row in csv.DictReader(file) if row["loss"]]


def test_a_missing_library_is_named_before_anything_is_made(
    mate: Mate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tensorboard" else find(name))
    assert mate("train", *TINY, "logger=tensorboard") == 2
    assert capsys.readouterr().err == (
        "error: logger=tensorboard needs TensorBoard: pip install '.[tensorboard]' in a clone of mate\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_a_key_each_job_is_an_offline_run_and_seeds_are_a_group(
    mate: Mate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "cache"))  # empty: a split is encoded after the training too
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "no-settings"))
    begin, begun = wandb.init, []

    def init(**words: Any) -> Any:
        begun.append(begin(**words))
        return begun[-1]

    monkeypatch.setattr(wandb, "init", init)
    assert mate("train", "-m", "seed=0,1", *TINY, "logger=wandb", "logger.project=tables") == 0
    assert mate("train", *TINY, "logger=wandb", "logger.group=mine", "resume=true") == 0
    assert wandb.run is None
    assert [run.offline for run in begun] == [True] * 3
    assert begun[0].id == begun[2].id != begun[1].id
    assert begun[0].group == begun[1].group != begun[2].group == "mine"
    assert [run.project for run in begun] == ["tables", "tables", "mate"]
    assert [run.config["seed"] for run in begun] == [0, 1, 0]
    folders = [next(tmp_path.glob(f"runs/sample/mate-tiny-s{seed}-*")) for seed in (0, 1)]
    assert [run.name for run in begun[:2]] == [folder.name for folder in folders]
    for folder, run in zip(folders, begun, strict=False):
        assert list(folder.glob(f"wandb/offline-run-*-{run.id}/*.wandb"))
        assert json.loads((folder / "status.json").read_text())["wandb_id"] == run.id


@pytest.mark.slow
def test_the_key_of_wandb_is_not_kept(mate: Mate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline, everything that wandb writes is in the run folder too."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_API_KEY", "0123456789abcdef0123456789abcdef01234567")
    assert mate("train", *TINY, "logger=wandb", "name=first") == 0
    kept = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert any("wandb" in path.parts and path.suffix == ".wandb" for path in kept)
    assert [path for path in kept if b"0123456789abcdef0123456789abcdef" in path.read_bytes()] == []


@pytest.mark.sweep
def test_tensorboard_shows_the_curves_of_metrics_csv(mate: Mate, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert mate("train", *TINY, "logger=tensorboard", "name=first") == 0
    folder = tmp_path / "runs" / "sample" / "first"
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    assert [event.value for event in events.Scalars("loss")] == pytest.approx(losses(folder), rel=1e-5)
    assert len(losses(folder)) == 2
