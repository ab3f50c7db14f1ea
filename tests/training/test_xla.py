"""Training on XLA devices, on torch-xla's processor: as on the CPU, with few compilations and no operation on it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from mate_cli.attention import widest_shape
from mate_cli.config.task import active_schedule
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.evaluate import EvaluatedRun
from mate_cli.kinds.registry import task_of
from mate_cli.models.encoder import Intermediate
from mate_cli.runs.folder import RunFolder
from mate_cli.tasks.cell_selection import CellSelection
from mate_cli.training import fit
from mate_cli.training.backend import collator_for
from mate_cli.training.callbacks import Checkpoints
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model
from tests.tables.releases import write_tabfact
from tests.training.test_every_model import MODELS, SILENT, composed, eight  # noqa: F401
from tests.training.test_pre_training import write_tables
from tests.training.xla_runs import SMALL, Counts, train, write_table

pytestmark = [pytest.mark.xla, pytest.mark.timeout(2400)]
TEN = ("task.schedules.smoke.steps=10",)
DROPPING = (
    "name=it",
    "task.schedules.smoke.steps=6",
    "task.schedules.smoke.save_every=2",
    "task.schedules.smoke.dropout=0.1",
    "task.schedules.smoke.attention_dropout=0.1",
)


@pytest.fixture(autouse=True, scope="module")
def device_before_the_first_gradient():
    """PyTorch counts devices when it first computes a gradient, and knows of none that come later."""
    import torch_xla  # noqa: F401

    torch.zeros(1, device="xla")


@pytest.mark.parametrize("name", MODELS)
def test_scores_and_gradients_are_those_of_the_cpu(name, eight):  # noqa: F811
    import torch_xla

    config = composed("backbone=tiny", f"model={name}", "schedule=laptop")
    model, vocabulary, _ = starting_model(config, task_of(config), SILENT)
    active_schedule(config).max_tokens = 128
    options = encoding_options(config, task_of(config), model.config)
    encoded = encode(eight[:3], CellTokenizer(vocabulary), options)
    rows = [row_of(example, own) for example, own in zip(eight[:3], encoded, strict=True)]
    backend, results = config.model.attention.backend, []
    for device, shape in (("cpu", None), ("xla", widest_shape(4, 128))):
        batch = collator_for(model.config, config.model, backend, device, shape=shape)(rows).to(device)
        module = TaskModule(model, CellSelection()).to(device)
        module.zero_grad()
        logits = module(batch)
        module.task.losses(logits, batch).sum().backward()
        torch_xla.sync()  # else each tensor that is read would be a program of its own
        gradients = {key: own.grad.cpu() for key, own in model.named_parameters() if own.grad is not None}
        results.append((logits.detach().cpu()[: len(batch.on_host().cell_document)], gradients))
    (logits, gradients), (logits_xla, gradients_xla) = results
    torch.testing.assert_close(logits_xla, logits, rtol=0, atol=1e-5)
    assert gradients.keys() == gradients_xla.keys()
    for key, own in gradients.items():
        torch.testing.assert_close(gradients_xla[key], own, rtol=0, atol=1e-5, msg=key)


@pytest.fixture(scope="module")
def table():
    """What each kind of training compiled and left to the CPU; written to the file that XLA_TABLE names."""
    found: dict[str, Counts] = {}
    yield found
    if target := os.environ.get("XLA_TABLE"):
        write_table(found, Path(target))


def assert_compiled(counts, steps, most):
    assert len(counts.compilations) == steps
    assert counts.compilations[-1] <= most
    assert counts.fallbacks == {}


@pytest.mark.parametrize("name", MODELS)
def test_ten_steps_compile_twice_and_leave_nothing_to_the_cpu(name, tmp_path, cache, table):
    # A length of its own: rows alone and columns alone are one program, which would be compiled for the first only.
    length = f"task.schedules.smoke.max_tokens={96 + MODELS.index(name)}"
    _, counts = train(tmp_path, cache, f"model={name}", *TEN, length)
    table[f"model={name}"] = counts
    assert_compiled(counts, 10, most=2)


@pytest.mark.parametrize(("task", "write"), [("tabfact", write_tabfact), ("mlm", write_tables)])
def test_so_do_other_tasks_with_the_losses_of_the_cpu(task, write, tmp_path, cache, table):
    words = [f"task={task}", f"data_dir={write(tmp_path / task)}", *TEN]
    words += ["task.schedules.smoke.mentions=1"] if task == "tabfact" else []
    on_xla, counts = train(tmp_path / "xla", cache, *words)
    table[f"task={task}"] = counts
    assert_compiled(counts, 10, most=2)
    paths = (f"paths.runs={tmp_path / 'cpu'}", f"paths.cache={cache}")
    on_cpu = fit.train(composed("hardware=cpu", "hardware.precision='32'", *SMALL, *paths, *words), SILENT)
    expected = [float(own) for own in losses_of(on_cpu)]
    assert len(expected) == 10
    assert [float(own) for own in losses_of(on_xla)] == pytest.approx(expected, abs=1e-4)
    norms = [float(own) for own in logged(on_cpu, "gradient_norm")]
    assert [float(own) for own in logged(on_xla, "gradient_norm")] == pytest.approx(norms, rel=1e-3)


def test_accumulating_compiles_four_times(tmp_path, cache, table):
    _, counts = train(tmp_path, cache, "task.schedules.smoke.steps=5", "hardware.micro_batch=1")
    table["model=mate, four passes for each step"] = counts
    assert_compiled(counts, 20, most=4)


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
    words = ("task.schedules.smoke.steps=3", "hardware.precision=bf16-mixed")
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


def test_one_program_over_four_devices(cache):
    output = program("xla_spmd", cache, CPU_NUM_DEVICES="4", PJRT_NPROC="16", XLA_PERSISTENT_CACHE_PATH="")
    report = json.loads(output.splitlines()[-1])
    assert report["xla"] == pytest.approx(report["cpu"], abs=1e-5)
    assert report["fallbacks"] == []
    assert report["compilations"] <= 2
    assert "devices=[4]" in report["sharding"]


REPLICAS = {"PJRT_NPROC": "16", "XLA_THREAD_POOL_SIZE": "16", "XLA_NO_SPECIAL_SCALARS": "1", "OMP_NUM_THREADS": "1"}


def test_two_replicas_come_to_the_weights_of_one(tmp_path, cache):
    # The paper's learning rate, as in test_two_processes.py: the bias of all scores wanders by rounding times this.
    rates = ("task.schedules.smoke.lr=1e-5", "task.schedules.smoke.head_lr=null")
    words = ("task.schedules.smoke.steps=4", "name=it", "hardware.micro_batch=2", *rates)
    ends = []
    for replicas in (1, 2):
        runs = tmp_path / str(replicas)
        program("xla_replicas", runs, cache, replicas, *words, CPU_NUM_DEVICES=str(replicas), **REPLICAS)
        ends.append(RunFolder(runs / "sample" / "it"))
    one, two = ends
    assert [float(own) for own in losses_of(two)] == pytest.approx([float(own) for own in losses_of(one)], abs=1e-5)
    assert len(losses_of(two)) == 4, "a logger of another thread"
    expected, got = weights(one), weights(two)
    for key in expected:
        torch.testing.assert_close(got[key], expected[key], rtol=0, atol=1e-6)


def top_cells(hardware, runs, cache):
    """The best cell of each question of dev, after 40 steps."""
    words = ("backbone=tiny", "schedule=smoke", "task.schedules.smoke.steps=40", "task.schedules.smoke.validate_on=6")
    paths = (f"paths.runs={runs}", f"paths.cache={cache}")
    config = composed(f"hardware={hardware}", "hardware.precision='32'", *words, *paths)
    folder = fit.train(config, SILENT)
    predictions = EvaluatedRun(folder, config, config.hardware, "dev", None, False, SILENT).predict()
    return {question: own.cells[0] for question, own in predictions.items()}


def test_the_same_cells_are_best_as_on_the_cpu(tmp_path, cache):
    on_cpu, on_xla = (top_cells(hardware, tmp_path / hardware, cache) for hardware in ("cpu", "xla_cpu"))
    assert on_cpu.keys() == on_xla.keys()
    assert len(on_cpu) > 100
    assert len(set(on_cpu.values())) > 3, "a model that has learned nothing says nothing"
    same = sum(on_cpu[question] == on_xla[question] for question in on_cpu)
    assert same >= 0.99 * len(on_cpu)
