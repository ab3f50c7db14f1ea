"""One program over four XLA devices: losses and dropout of the CPU, compilations, resuming, the score at the end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from mate_cli.config.paths import PathsConfig
from mate_cli.runs.folder import RunFolder
from mate_cli.tables.data_folder import data_folder
from tests.training.test_every_model import composed
from tests.training.test_xla import program
from tests.training.test_xla_tasks import logged, on_cpu
from tests.training.xla_runs import SMALL

pytestmark = [pytest.mark.xla, pytest.mark.timeout(2400)]
FOUR = {"CPU_NUM_DEVICES": "4", "PJRT_NPROC": "16"}
STEPS = ("task.schedules.smoke.batch=8", "task.schedules.smoke.steps=4", "task.schedules.smoke.save_every=2")
DROPPING = ("task.schedules.smoke.dropout=0.1", "task.schedules.smoke.attention_dropout=0.1")
TRAININGS = {
    "kept": (),
    "passes": ("hardware.micro_batch=1",),
    "dropping": DROPPING,
    "dropping-2": (*DROPPING, "resume=true"),
    "again": (*DROPPING, "hardware.recompute=true"),
    "mixed": (*DROPPING, "hardware.precision=bf16-mixed"),
}


def words_of(name, cache):
    tables = data_folder(composed().task, None, PathsConfig(cache=str(cache))) / "tables"
    masked = ("task=mlm", f"data_dir={tables}", *DROPPING)
    return (f"name={name}", *STEPS, *TRAININGS.get(name, masked))


@pytest.fixture(scope="module")
def trainings(tmp_path_factory, cache):
    """By the name of a training: its run, the compilations after each micro-batch, and the fallbacks."""
    runs, names = tmp_path_factory.mktemp("one-program"), (*TRAININGS, "masked")
    words = [word for name in names for word in (*words_of(name, cache), "--")]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={runs / 'programs'} --xla_dump_hlo_as_text"
    report = json.loads(program("xla_spmd", runs, cache, *words, **FOUR, XLA_FLAGS=flags).splitlines()[-1])
    ran = [(RunFolder(Path(path)), *counts) for path, *counts in report]
    return dict(zip(names, ran, strict=True))


@pytest.mark.parametrize("name", ["kept", "dropping", "masked"])
def test_the_losses_are_those_of_the_cpu(name, trainings, cache, tmp_path):
    run, expected = trainings[name][0], on_cpu(tmp_path, cache, *words_of(name, cache))
    assert len(logged(run, "loss")) == 4
    assert logged(run, "loss") == pytest.approx(logged(expected, "loss"), abs=1e-5)
    assert logged(run, "gradient_norm") == pytest.approx(logged(expected, "gradient_norm"), rel=1e-3)


def test_few_programs_and_nothing_left_to_the_cpu(trainings):
    compilations = {name: counts[-1] for name, (_, counts, _) in trainings.items()}
    assert compilations.pop("passes") <= 3
    assert max(compilations.values()) <= 2
    assert all(fallbacks == {} for _, _, fallbacks in trainings.values())


def test_devices_exchange_sums_alone(trainings):
    """The look-ups of packed examples stay on their device, so a device needs the memory of a replica."""
    programs = trainings["kept"][0].path.parents[1] / "programs"
    text = "".join(file.read_text() for file in programs.glob("*after_optimizations.txt"))
    assert {*re.findall(r" (all-[a-z-]+|collective-[a-z-]+|reduce-scatter)\(", text)} == {"all-reduce"}


def test_a_resumed_run_ends_as_an_undisturbed_one(trainings):
    whole, resumed = (trainings[name][0] for name in ("dropping", "dropping-2"))
    assert len(trainings["dropping-2"][1]) == 2, "steps after the checkpoint"
    assert (whole.path / "metrics.csv").read_text() == (resumed.path / "metrics.csv").read_text()
    expected, got = (load_file(run.best_model / "model.safetensors") for run in (whole, resumed))
    assert expected.keys() == got.keys()
    assert all(expected[key].equal(got[key]) for key in expected)


def test_passes_and_layers_computed_again_change_nothing(trainings):
    for name, other in (("kept", "passes"), ("dropping", "again")):
        expected, got = (logged(trainings[own][0], "loss") for own in (name, other))
        assert got == pytest.approx(expected, abs=1e-5)


def test_mixed_precision_is_of_products_alone(trainings):
    exact, mixed = (trainings[name][0] for name in ("dropping", "mixed"))
    assert logged(mixed, "loss") == pytest.approx(logged(exact, "loss"), rel=0.02)
    assert logged(mixed, "loss") != logged(exact, "loss")
    state = torch.load(mixed.last_checkpoint, weights_only=True)["optimizer_states"][0]["state"]
    assert {own["exp_avg"].dtype for own in state.values()} == {torch.float32}


def test_a_command_ends_with_the_scores_of_the_cpu(mate_process, tmp_path):
    scores = []
    for name, words, variables in (
        ("cpu", ("hardware=cpu", "hardware.precision=32"), {}),
        ("four", ("hardware=xla_cpu", "hardware.devices=4", "hardware.strategy=spmd"), FOUR),
    ):
        process = mate_process("train", *SMALL, *STEPS, *words, f"name={name}", **variables)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
        scores.append(json.loads((tmp_path / "runs" / "sample" / name / "metrics.json").read_text()))
    assert scores[0] == scores[1]


def test_a_batch_that_does_not_divide_among_the_devices(tmp_path):
    words = ("hardware=xla_cpu", "hardware.devices=4", "hardware.strategy=spmd", "batch=6")
    done = subprocess.run(
        [sys.executable, "-m", "mate_cli", "train", *SMALL[:2], *words, f"paths.runs={tmp_path}"],
        env={"PATH": "", "CPU_NUM_DEVICES": "4", "PJRT_DEVICE": "CPU"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "a batch of 6 examples does not divide among 4 devices" in done.stderr
