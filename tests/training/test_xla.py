"""Training on XLA devices, on torch-xla's processor: validation, resuming, dropout, precision, several devices."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from mate_cli.models.encoder import Intermediate
from mate_cli.runs.folder import RunFolder
from mate_cli.training.callbacks import Checkpoints
from tests.training.xla_runs import device_before_the_first_gradient, train  # noqa: F401

pytestmark = [pytest.mark.xla, pytest.mark.timeout(2400)]
DROPPING = (
    "name=it",
    "task.schedules.smoke.steps=6",
    "task.schedules.smoke.save_every=2",
    "task.schedules.smoke.dropout=0.1",
    "task.schedules.smoke.attention_dropout=0.1",
)


def test_validation_leaves_the_program_of_the_steps_as_it_is(tmp_path, cache):
    words = ("task.schedules.smoke.steps=8", "task.schedules.smoke.validate_every=2")
    _, counts = train(tmp_path, cache, *words, "task.schedules.smoke.max_tokens=80")  # a shape that is not compiled yet
    assert counts.compilations[:2] == [1, 1]
    assert counts.compilations[2:] == [counts.compilations[2]] * 6, "validation compiles once, behind the second step"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, cache):
    """A run of six steps with every kind of dropout, its checkpoints every two."""
    return train(tmp_path_factory.mktemp("undisturbed"), cache, *DROPPING)[0]


def weights(folder):
    return load_file(folder.best_model / "model.safetensors")


def test_a_resumed_run_ends_as_an_undisturbed_one(undisturbed, tmp_path, cache, monkeypatch):
    class Stopped(Exception):
        pass

    def stop(checkpoints, trainer, original=Checkpoints.save_last):
        original(checkpoints, trainer)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "save_last", stop)
        with pytest.raises(Stopped):
            train(tmp_path, cache, *DROPPING)
    (path,) = tmp_path.glob("*/*")
    assert RunFolder(path).status()["step"] == 2
    resumed, _ = train(tmp_path, cache, *DROPPING, "resume=true")
    expected, got = weights(undisturbed), weights(resumed)
    assert expected.keys() == got.keys()
    assert all(expected[key].equal(got[key]) for key in expected)


def test_layers_computed_again_drop_the_same_and_change_nothing(undisturbed, tmp_path, cache):
    again, counts = train(tmp_path, cache, *DROPPING, "hardware.recompute=true")
    assert counts.compilations[-1] <= 2
    assert counts.fallbacks == {}
    expected = [float(own) for own in losses_of(undisturbed)]
    assert [float(own) for own in losses_of(again)] == pytest.approx(expected, abs=1e-5)


def test_seeds_reach_the_device(undisturbed, tmp_path, cache):
    again, _ = train(tmp_path / "again", cache, *DROPPING)
    other, _ = train(tmp_path / "other", cache, *DROPPING, "task.schedules.smoke.attention_dropout=0")
    assert losses_of(again) == losses_of(undisturbed) != losses_of(other)


def losses_of(folder):
    return logged(folder, "loss")


def logged(folder, name):
    lines = list(csv.DictReader((folder.path / "metrics.csv").open()))
    return [line[name] for line in lines if line["loss"]]


def test_mixed_precision_is_of_products_alone(tmp_path, cache):
    # Layers that are computed again must be computed in the same precision.
    words = ("task.schedules.smoke.steps=3", "hardware.precision=bf16-mixed", "hardware.recompute=true")
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        original = Intermediate.forward

        def forward(layer, states):
            result = original(layer, states)
            seen.append((result.dtype, layer.dense.weight.dtype))
            return result

        patch.setattr(Intermediate, "forward", forward)
        mixed, counts = train(tmp_path / "mixed", cache, *words)
    exact, _ = train(tmp_path / "exact", cache, *words[:1])
    assert set(seen) == {(torch.bfloat16, torch.float32)}
    assert counts.fallbacks == {}
    state = torch.load(mixed.last_checkpoint, weights_only=True)["optimizer_states"][0]["state"]
    assert {own["exp_avg"].dtype for own in state.values()} == {torch.float32}
    for ours, reference in zip(losses_of(mixed), losses_of(exact), strict=True):
        assert float(ours) == pytest.approx(float(reference), rel=0.02)
        assert ours != reference


def program(module, *words, **environment):
    """The output of a program beside these tests, which gets a quarter of an hour."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.training.{module}", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


REPLICAS = {"PJRT_NPROC": "16", "XLA_THREAD_POOL_SIZE": "16", "XLA_NO_SPECIAL_SCALARS": "1", "OMP_NUM_THREADS": "1"}


def test_two_replicas_come_to_the_weights_of_one(tmp_path, cache):
    # The paper's learning rate, as in test_two_processes.py: the bias of all scores wanders by rounding times this.
    rates = ("task.schedules.smoke.lr=1e-5", "task.schedules.smoke.head_lr=null")
    words = ("task.schedules.smoke.steps=4", "task.schedules.smoke.max_tokens=192", "name=it", *rates)
    words += ("hardware.micro_batch=2",)
    ends = []
    for replicas in (1, 2):
        runs = tmp_path / str(replicas)
        program("xla_replicas", runs, cache, replicas, *words, CPU_NUM_DEVICES=str(replicas), **REPLICAS)
        ends.append(RunFolder(runs / "sample" / "it"))
    one, two = ends
    assert len(one.status()["length_classes"]) > 1
    assert one.status()["length_classes"] == two.status()["length_classes"]
    assert [float(own) for own in losses_of(two)] == pytest.approx([float(own) for own in losses_of(one)], abs=1e-5)
    assert len(losses_of(two)) == 4, "a logger of another thread"
    expected, got = weights(one), weights(two)
    for key in expected:
        torch.testing.assert_close(got[key], expected[key], rtol=0, atol=1e-6)
