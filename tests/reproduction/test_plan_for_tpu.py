"""The plan of all tables for the paper's hardware: every command of it can be started."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mate_cli.attention import widest_shape
from mate_cli.cli.main import main
from mate_cli.config.model import BackboneConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.reproduce import DataConfig, ReproduceConfig
from mate_cli.reproduction import memory
from mate_cli.reproduction.experiment import chosen_experiments
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.memory import planned_way
from mate_cli.reproduction.plan import wanted_steps
from mate_cli.reproduction.steps import Training
from mate_cli.training.backend import check_dropout, collator_for
from mate_cli.training.devices import planned_devices
from mate_cli.training.memory_fit import fit_memory, widest_inputs
from mate_cli.training.starting_model import model_config


def ledger_of(folder: Path, schedule: str, words: str) -> Ledger:
    """A ledger of all tables; data folders are named, and read by nobody, unless the schedule is ``smoke``."""
    names = DataConfig.__dataclass_fields__ if schedule == "paper" else ()
    return Ledger(
        ReproduceConfig(
            what="all",
            schedule=schedule,
            backbone=BackboneConfig(name="tiny", source="random"),
            data=DataConfig(**{name: str(folder / name) for name in names}),
            words=words,
            paths=PathsConfig(runs=str(folder / "runs")),
        ),
        ["backbone=tiny"],
    )


def trainings(ledger: Ledger) -> Iterator[Training]:
    """The trainings of the plan in order, one for each task, model, ablation and start."""
    steps = wanted_steps(chosen_experiments("all"), ledger.config)
    yield from dict.fromkeys(step for step in steps if isinstance(step, Training))


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_commands_compose_and_divide_and_have_attention(tmp_path: Path, every: int) -> None:
    """One in so many; without counting, which the slow test below does."""
    ledger = ledger_of(tmp_path, "paper", "hardware=tpu_v3_32")
    seen = 0
    for step in [*trainings(ledger)][::every]:
        config = ledger.sized_config(step)
        devices = planned_devices(config.hardware)
        check_dropout(config)
        model, inputs = model_config(config), widest_inputs(config, devices)
        way = fit_memory(config, model, devices, inputs, limit=None).way
        assert way is not None, step.title
        collator_for(model, config.model, way.backend, "xla", True, (widest_shape(1, inputs.tokens),))
        seen += 1
    assert seen > 20 // every


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_training_fits(tmp_path: Path) -> None:
    """BERT-large, inputs as long as the schedule allows."""
    config = ledger_of(tmp_path, "paper", "hardware=tpu_v3_32").config
    config.backbone = None
    ledger = Ledger(config)
    refused = {step.title: planned_way(ledger.sized_config(step)).refusal for step in trainings(ledger)}
    assert not {title: reason for title, reason in refused.items() if reason}


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "hardware",
    [
        pytest.param("cpu", marks=pytest.mark.slow),
        pytest.param("xla_cpu", marks=[pytest.mark.slow, pytest.mark.xla]),
    ],
)
def test_every_command_starts(hardware: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Two steps of each on the generated sample, in the order of the plan, for each starts from another.

    Trainings that differ in their steps alone are one here.
    """
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "cache"))
    ledger = ledger_of(tmp_path, "smoke", f"hardware={hardware} steps=2")
    failed = []
    for step in trainings(ledger):
        if ledger.done(step) is None and step.hindrance(ledger) is None:
            words = [*ledger.words(step), f"name={ledger.path(step).name}"]
            if train(words, hardware):
                failed.append(shlex.join(words))
            ledger.refresh()
    assert not failed


def train(words: list[str], hardware: str) -> int:
    """The exit status of ``mate train``; on torch-xla in a process of its own, for a process keeps what it compiled."""
    if hardware == "cpu":
        return main(["train", *words])
    return subprocess.run([sys.executable, "-m", "mate_cli", "train", *words]).returncode


@pytest.mark.slow
def test_what_the_hardware_cannot_run_is_left_out(tmp_path: Path) -> None:
    for words, reason in (
        ("hardware=tpu_v3_32 hardware.memory=0.01 max_tokens=64", "not one fits"),
        ("hardware=tpu_v3_32 batch=100", "does not divide among 32 devices"),
    ):
        ledger = ledger_of(tmp_path, "paper", words)
        step = next(trainings(ledger))
        assert reason in str(step.hindrance(ledger))
        known = len(memory._known)
        assert step.hindrance(ledger)
        assert len(memory._known) == known  # counted once
