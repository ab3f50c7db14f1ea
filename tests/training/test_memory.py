"""The memory of a training step: counted, measured, and what follows from it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.attention.backends import cheapest_on_xla
from mate_cli.config.rules import problems
from mate_cli.kinds.registry import kind_of
from mate_cli.system.errors import UserError
from mate_cli.system.memory import GIB
from mate_cli.training.devices import Devices, largest_divisor
from mate_cli.training.memory import LargestInputs, LiveTensors, Way, count_memory, largest_batch_of, memory_line
from mate_cli.training.memory_fit import fitting_way, memory_limit
from mate_cli.training.starting_model import model_config
from tests.training.conftest import fast
from tests.training.measured_memory import CPU, TOKENS, prepared, step
from tests.training.test_every_model import composed

XLA = Devices("xla_cpu", 1, 1, "32-true", "auto")
GPU = Devices("gpu", 1, 1, "bf16-mixed", "auto")
WORDS = ("task=hybridqa", "schedule=paper", "backbone=tiny", "backbone.layers=5")


def test_live_tensors_are_counted_until_they_die() -> None:
    with LiveTensors() as live:
        first = torch.zeros(1000)
        view = first[:10].clone() + first.view(2, 500)[0, :10]
        del first
        assert (live.now, live.peak) == (40, 4000 + 40 + 40)
        assert view.shape == (10,)


@pytest.mark.parametrize(
    ("backend", "recompute", "dropout"),
    [
        ("dense", False, 0.0),
        pytest.param("dense", True, 0.1, marks=pytest.mark.slow),
        pytest.param("ragged", False, 0.1, marks=pytest.mark.slow),
        ("blocks", False, 0.0),
    ],
)
def test_what_autograd_keeps_is_what_is_counted(backend: str, recompute: bool, dropout: float) -> None:
    """Independent of the count: PyTorch's hooks on a real model say what the forward pass keeps."""
    config, model = prepared(dropout)
    way = Way(backend, recompute, 2)
    counted = count_memory(config, model, CPU, LargestInputs(TOKENS), way).activations
    network = kind_of(config.task).model(model).train()
    network.get_submodule("tapas.encoder").recompute = recompute
    batch = largest_batch_of(config, model, CPU, LargestInputs(TOKENS), way)
    own = {t.untyped_storage().data_ptr() for t in [*network.parameters(), *(t for _, t in batch.tensors())]}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        step(config, network, batch)
    size = sum(storage.nbytes() for place, storage in kept.items() if place not in own)
    if recompute:  # hooks do not see the one layer that is computed again
        assert size < counted < 8 * size
    else:  # the peak is at the end of the forward pass, but for the operation there and the plan's indices
        assert size == pytest.approx(counted, rel=0.1)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the peak of a process")
@pytest.mark.parametrize(
    "words",
    ["native false 0 4", "dense false 0.1 4", "ragged true 0.1 8", "eager false 0 4", "blocks false 0 2"],
)
def test_a_process_takes_what_is_counted(words: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    program = [sys.executable, "-m", "tests.training.measured_memory", *words.split()]
    result = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    measured, counted = map(int, result.stdout.split())
    assert counted == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(
    ("devices", "backend"),
    [
        (XLA, "bucketed"),
        (CPU, "auto"),
        *(pytest.param(*own, marks=pytest.mark.slow) for own in ((XLA, "dense"), (GPU, "varlen"), (GPU, "flex"))),
    ],
)
def test_a_line_says_what_a_count_says(devices: Devices, backend: str) -> None:
    """For all layers and more examples than were counted."""
    words = ("model=mate_bucketed",) if backend == "bucketed" else ()
    config, model = prepared(0.0, *words, "backbone.layers=4", "backbone.hidden=64", "backbone.intermediate=256")
    shape = FixedShape(1, 512, 32, 64, 128) if devices is XLA else None
    inputs = LargestInputs(512, shape)
    line = memory_line(config, model, devices, inputs, backend, recompute=False)
    counted = count_memory(config, model, devices, inputs, Way(backend, False, 3))
    assert line.at(3).total == pytest.approx(counted.total, rel=0.02)
    assert line.largest(counted.total * 1.02) in (3, 4)
    assert line.largest(0.0) == 0


@pytest.mark.parametrize("task", ["hybridqa", "hybridqa_reader", "sqa", "tabfact", "mlm", "own_qa"])
def test_every_kind_of_task_is_counted(task: str) -> None:
    config = composed(f"task={task}", "backbone=tiny", "backbone.layers=1", "schedule=smoke")
    model = model_config(config)
    memory = count_memory(config, model, CPU, LargestInputs(64), Way("dense", False, 2))
    weights = sum(parameter.numel() for parameter in kind_of(config.task).model(model).parameters())
    assert (memory.parameters, memory.gradients) == (4 * weights, 4 * weights)
    assert 8 * weights <= memory.optimizer < 8 * weights + 4096
    assert memory.activations > 0


@pytest.mark.parametrize("devices", fast(CPU, of=(CPU, GPU, XLA)))
def test_a_layer_computed_again_keeps_its_inputs_alone(devices: Devices) -> None:
    config, model = prepared(0.1, "backbone.layers=6")
    inputs = LargestInputs(TOKENS, FixedShape(1, TOKENS, 32, 64, 128) if devices is XLA else None)
    kept, again = (count_memory(config, model, devices, inputs, Way("dense", way, 2)) for way in (False, True))
    assert again.activations < kept.activations
    assert replace(again, layers=0, embeddings=0) == replace(kept, layers=0, embeddings=0)


def test_sharded_and_whole_models() -> None:
    config, model = prepared(0.0, "backbone.layers=2")
    four = Devices("gpu", 4, 1, "bf16-mixed", "ddp")
    whole, shared = (
        count_memory(config, model, devices, LargestInputs(64), Way("dense", False, 1))
        for devices in (four, replace(four, strategy="fsdp"))
    )
    assert whole.sums == whole.gradients
    assert shared.optimizer == whole.optimizer // 4
    assert shared.sums == 0


def test_one_program_takes_what_replicas_take() -> None:
    config, model = prepared(0.0, "backbone.layers=1")
    replicas = Devices("tpu", 8, 4, "bf16-mixed", "auto")
    inputs, way = LargestInputs(64, widest_shape(1, 64)), Way("dense", False, 2)
    one_program = count_memory(config, model, replace(replicas, strategy="spmd"), inputs, way)
    assert one_program == count_memory(config, model, replicas, inputs, way)
    assert one_program.sums == one_program.gradients


def test_attention_on_xla_follows_the_windows() -> None:
    narrow, hybridqa = FixedShape(1, 2048, 64, 64, 512), FixedShape(1, 2048, 64, 512, 1936)
    assert cheapest_on_xla(("row", "column"), narrow) == "blocks"
    assert cheapest_on_xla(("row", "column"), hybridqa) == "dense"
    assert cheapest_on_xla(("full",), hybridqa) == "blocks"


def way_with(memory: float, *words: str, batch: int = 32, dropout: float = 0.1) -> Way:
    config, model = prepared(dropout, "hardware=xla_cpu", "hardware.micro_batch=null", f"hardware.memory={memory}")
    config = replace(config, hardware=replace(config.hardware, **dict(word.split("=") for word in words)))
    config.task.schedules["paper"].batch = batch
    inputs = LargestInputs(TOKENS, FixedShape(1, TOKENS, 32, 64, 512))
    return fitting_way(config, model, XLA, inputs, memory_limit(config.hardware))


@pytest.mark.slow
def test_micro_batch_recompute_and_attention_follow_from_memory() -> None:
    assert way_with(8.0) == Way("dense", False, 32)
    small = way_with(0.35)
    assert not small.recompute
    assert 1 <= small.micro_batch < 32
    assert 32 % small.micro_batch == 0
    config, model = prepared(0.1)
    inputs = LargestInputs(TOKENS, FixedShape(1, TOKENS, 32, 64, 512))
    one = memory_line(config, model, XLA, inputs, "dense", recompute=True).at(1)
    assert way_with(1.01 * one.total / GIB / 0.9).recompute


def test_what_does_not_fit_is_refused_with_what_fits() -> None:
    config, model = prepared(0.1, "hardware=cpu", "hardware.memory=0.4", "hardware.micro_batch=16")
    config.task.schedules["paper"].batch = 16
    config.hardware.recompute = False
    limit = memory_limit(config.hardware)
    with pytest.raises(UserError, match=r"16 examples of 512 tokens on a device need .* GiB, and of the 0") as caught:
        fitting_way(config, model, CPU, LargestInputs(TOKENS), limit)
    assert "\n" not in str(caught.value)
    fits = int(str(caught.value).rpartition("=")[2])
    config.hardware.micro_batch = fits
    assert fitting_way(config, model, CPU, LargestInputs(TOKENS), limit).micro_batch == fits
    config.hardware.micro_batch = 2 * fits
    with pytest.raises(UserError, match=f"at most {fits} fits?; set hardware.micro_batch={fits}"):
        fitting_way(config, model, CPU, LargestInputs(TOKENS), limit)
    config.hardware.memory = 0.1
    with pytest.raises(UserError, match=r"not one fits; lower max_tokens, or take hardware.recompute=true"):
        fitting_way(config, model, CPU, LargestInputs(TOKENS), memory_limit(config.hardware))


def test_a_size_that_nothing_tells() -> None:
    hardware = composed(*WORDS, "hardware=cpu").hardware
    (line,) = problems(replace(hardware, micro_batch=None))
    assert line == "micro_batch is missing: set it, or memory, from which it follows"
    assert not problems(replace(hardware, micro_batch=None, memory=16.0))
    assert replace(hardware, micro_batch=None).prediction_batch == 4
    assert memory_limit(replace(hardware, memory=16.0)) == 0.9 * 16 * GIB


def test_divisors() -> None:
    assert [largest_divisor(12, most) for most in (1, 5, 6, 11, 50)] == [1, 4, 6, 6, 12]


class TestCommand:
    """``mate train dry_run=true``."""

    def test_it_prints_what_fits_and_writes_nothing(self, mate: Any, capsys: Any, tmp_path: Path) -> None:
        words = ("task=hybridqa", "backbone=tiny", "hardware=tpu_v3_32", "dry_run=true", "max_tokens=128")
        assert mate("train", *words) == 0
        output = capsys.readouterr().out
        assert "hardware=tpu_v3_32: 32 devices, batch 128" in output
        for part in ("parameters", "gradients", "optimizer", "activations", "largest micro-batch"):
            assert part in output
        assert "takes: hardware.micro_batch=4 hardware.recompute=false, 1 pass a step" in output
        assert not (tmp_path / "runs").exists()

    def test_it_refuses(self, mate: Any, capsys: Any) -> None:
        words = ("task=hybridqa", "schedule=smoke", "backbone=tiny", "backbone.layers=1", "hardware.memory=0.001")
        assert mate("train", *words, "hardware=cpu", "max_tokens=32", "dry_run=true") == 2
        captured = capsys.readouterr()
        assert "total" in captured.out
        assert "refused: 8 examples of 32 tokens on a device need" in captured.err

    def test_a_batch_that_does_not_divide(self, mate: Any, capsys: Any) -> None:
        words = ("task=hybridqa", "backbone=tiny", "hardware=tpu_v3_32", "batch=100", "max_tokens=128")
        assert mate("train", *words, "dry_run=true") == 2
        assert "a batch of 100 examples does not divide among 32 devices" in capsys.readouterr().err

    def test_a_training_that_does_not_fit_is_refused_before_it_starts(
        self, mate: Any, capsys: Any, tmp_path: Path
    ) -> None:
        words = ("task=sample", "backbone=tiny", "schedule=smoke", "hardware=cpu", "hardware.memory=0.01")
        assert mate("train", *words, "name=small") == 2
        assert "8 examples of" in capsys.readouterr().err
        assert not (tmp_path / "runs" / "sample" / "small").exists()
