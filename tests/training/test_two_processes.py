"""Two processes that share a batch end as one with the whole of it does, and keep one run folder."""

from __future__ import annotations

import csv
import json
import os
import signal
import socket

import pytest
import torch
from safetensors.torch import load_file

from tests.training.conftest import TINY, train_once
from tests.training.test_resume import finish, wait_for_step

STEPS = 20
# The paper's learning rate: weights that gradients say nothing about, such as a bias of all scores, wander by the
# rounding errors times this. 167 questions in batches of 8 are 21, of which the second process looks at 10.
RUN = (
    *TINY,
    "task.schedules.smoke.lr=1e-5",
    "task.schedules.smoke.head_lr=null",
    "task.schedules.smoke.batch=16",
    "task.schedules.smoke.validate_every=7",
    f"task.schedules.smoke.steps={STEPS}",
    "task.schedules.smoke.save_every=2",
    "hardware.workers=0",
)
DDP = ("hardware.devices=2",)
FSDP = ("hardware.devices=2", "hardware.strategy=fsdp", "hardware.recompute=true")
needs_two_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two processes need two cores")
slow = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory, cache):
    """Runs of one process: ``one``, and ``short``, of its first step alone."""
    folder = train_once(tmp_path_factory, cache, *RUN, "hardware.micro_batch=16", "name=one")
    words = ("hardware.micro_batch=16", "task.schedules.smoke.steps=1", f"paths.runs={folder}/runs", "name=short")
    train_once(tmp_path_factory, cache, *RUN, *words)
    return folder / "runs" / "sample"


def run_to_the_end(process):
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return output


def metrics(folder):
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {key: [float(row[key]) for row in rows if row[key]] for key in ("loss", "dev_hits@1")}


def furthest(folder, other):
    """The largest difference between the weights of two runs."""
    weights, others = (load_file(run / "best" / "model.safetensors") for run in (folder, other))
    assert weights.keys() == others.keys()
    return max(float((weights[key] - others[key]).abs().max()) for key in weights)


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def assert_same_run(one, two):
    assert furthest(one, two) < 1e-6
    assert metrics(two)["loss"] == pytest.approx(metrics(one)["loss"], abs=2e-6)
    assert len(metrics(two)["loss"]) == STEPS
    assert metrics(two)["dev_hits@1"] == pytest.approx(metrics(one)["dev_hits@1"], abs=1e-7)
    assert len(metrics(two)["dev_hits@1"]) == 3
    for name in ("metrics.json", "best/config.json"):
        assert json.loads((one / name).read_text()) == json.loads((two / name).read_text())
    assert files(one) == files(two)


@needs_two_cores
@pytest.mark.parametrize("words", [pytest.param(DDP, id="ddp", marks=slow), pytest.param(FSDP, id="fsdp", marks=slow)])
def test_two_processes_are_one_with_the_whole_batch(mate_process, tmp_path, runs, words):
    output = run_to_the_end(mate_process("train", *RUN, *words, "hardware.micro_batch=8", "name=two"))
    assert_same_run(runs / "one", tmp_path / "runs/sample/two")
    assert furthest(runs / "one", runs / "short") > 1e-4
    assert [path.name for path in tmp_path.rglob("*") if path.parent.parent == tmp_path / "runs"] == ["two"]
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert output.count("parameters,") == output.count("run folder:") == 1
    assert "Initializing" not in output


@needs_two_cores
@pytest.mark.parametrize("words", [pytest.param(DDP, id="ddp", marks=slow), pytest.param(FSDP, id="fsdp", marks=slow)])
def test_a_run_goes_on_with_one_process(mate_process, tmp_path, runs, words):
    process = mate_process("train", *RUN, *words, "hardware.micro_batch=4", "name=moved")
    wait_for_step(process, tmp_path, "moved", 4)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    assert output.count("stopped at step") == 1
    assert "Traceback" not in output
    finish(mate_process("train", *RUN, "name=moved", "resume=true", "hardware.micro_batch=2"))
    moved = tmp_path / "runs/sample/moved"
    assert furthest(runs / "one", moved) < 1e-6
    assert metrics(moved)["dev_hits@1"][-1] == pytest.approx(metrics(runs / "one")["dev_hits@1"][-1])
    assert json.loads((moved / "status.json").read_text())["step"] == STEPS


@pytest.mark.slow
@needs_two_cores
@pytest.mark.timeout(900)
def test_when_a_scheduler_takes_one_host_both_save_and_go_on(mate_process, tmp_path, runs):
    words = ("hardware.nodes=2", "hardware.devices=1", "hardware.micro_batch=8", "name=hosts")
    hosts = start_hosts(mate_process, *RUN, *words)
    wait_for_step(hosts[0], tmp_path, "hosts", 4)
    hosts[1].send_signal(signal.SIGTERM)
    for host in hosts:
        output, _ = host.communicate(timeout=300)
        assert host.returncode == 75, output
        assert "Traceback" not in output
    for host in start_hosts(mate_process, *RUN, *words, "resume=true"):
        finish(host)
    assert furthest(runs / "one", tmp_path / "runs/sample/hosts") < 1e-6


def start_hosts(mate_process, *words):
    """Start the same command twice, as on two hosts, with the variables that tell them of each other."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [mate_process("train", *words, **told, NODE_RANK=str(rank)) for rank in range(2)]


@pytest.mark.slow
@needs_two_cores
@pytest.mark.timeout(900)
def test_one_process_goes_on_as_two_that_share_the_weights(mate_process, tmp_path, runs):
    process = mate_process("train", *RUN, "hardware.micro_batch=4", "name=moved")
    wait_for_step(process, tmp_path, "moved", 4)
    process.kill()
    process.wait()
    finish(mate_process("train", *RUN, *FSDP, "name=moved", "resume=true", "hardware.micro_batch=8"))
    assert furthest(runs / "one", tmp_path / "runs/sample/moved") < 1e-6


@pytest.mark.gpu
@pytest.mark.parametrize("hardware", ["gpu_ddp", "gpu_fsdp"])
def test_gpus_are_one_process(mate_process, tmp_path, runs, hardware):
    """On two GPUs where there are two; on one, by itself, sharing out is a copy. In 32 bits, without TF32."""
    devices = min(2, torch.cuda.device_count())
    words = (*RUN, f"hardware={hardware}", "hardware.precision='32'", f"hardware.devices={devices}")
    words = tuple(word for word in words if word != "hardware=cpu")
    run_to_the_end(mate_process("train", *words, f"hardware.micro_batch={16 // devices}", "name=gpu"))
    assert furthest(runs / "one", tmp_path / "runs/sample/gpu") < 1e-5
    assert metrics(tmp_path / "runs/sample/gpu")["loss"] == pytest.approx(metrics(runs / "one")["loss"], abs=1e-4)
    process = mate_process("train", *words, "hardware.micro_batch=4", "name=moved")
    wait_for_step(process, tmp_path, "moved", 4)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    finish(mate_process("train", *words, "hardware.micro_batch=4", "name=moved", "resume=true"))
    assert furthest(runs / "one", tmp_path / "runs/sample/moved") < 1e-5
