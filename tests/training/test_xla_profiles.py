"""XLA profiles where there is no torch-xla: what each asks for, and what is refused in one line."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
from rich.console import Console

from mate_cli.config.hardware import ACCELERATORS
from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import problems
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.training import fit, xla
from mate_cli.training.devices import Devices, accumulation, resolve_devices
from tests.training.test_every_model import composed

REPLICAS = {"tpu_v3": 8, "tpu_v3_32": 32, "tpu_v4": 4, "tpu_v5e": 8, "tpu_v6e": 8}


@pytest.fixture
def processor():
    return composed("hardware=xla_cpu").hardware


def without(monkeypatch, package):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find(name))


@pytest.fixture
def torch_xla(monkeypatch):
    """A package of that name, and nothing in it."""
    module = ModuleType("torch_xla")
    module.__spec__ = ModuleSpec("torch_xla", None)
    monkeypatch.setitem(sys.modules, "torch_xla", module)
    monkeypatch.setenv("PJRT_DEVICE", "CPU")


@pytest.mark.parametrize("name", REPLICAS)
def test_the_papers_batch_divides_among_the_replicas(name):
    hardware = composed("task=hybridqa", f"hardware={name}").hardware
    devices = Devices("tpu", hardware.devices, hardware.nodes, hardware.precision, hardware.strategy)
    assert devices.world_size == REPLICAS[name]
    assert devices.device_type == "xla"
    assert accumulation(128, 1, devices.world_size) == (1, 128 // devices.world_size)
    assert (hardware.micro_batch, hardware.recompute) == (None, None)  # they follow from the memory
    assert hardware.memory in (16, 32)


@pytest.mark.parametrize("name", [*REPLICAS, "xla_cpu"])
def test_no_torch_xla(name, monkeypatch):
    without(monkeypatch, "torch_xla")
    wanted = rf"hardware={name} needs torch-xla.*pip install '\.\[tpu\]'.*docs/tpu.md"
    with pytest.raises(UserError, match=wanted) as caught:
        resolve_devices(composed(f"hardware={name}").hardware)
    assert "\n" not in str(caught.value)


def test_a_torch_xla_of_another_torch(monkeypatch, tmp_path, processor):
    (tmp_path / "torch_xla.py").write_text("raise ImportError('undefined symbol: deleteNode')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch_xla", raising=False)
    monkeypatch.setenv("PJRT_DEVICE", "CPU")
    with pytest.raises(UserError, match=r"does not fit torch .*undefined symbol.*pip install .\.\[tpu\]"):
        resolve_devices(processor)


def test_one_device_or_all(monkeypatch, torch_xla, processor):
    monkeypatch.setenv("CPU_NUM_DEVICES", "4")
    assert resolve_devices(processor).world_size == 1
    assert resolve_devices(replace(processor, devices=4)).replicas
    with pytest.raises(UserError, match=r"needs 3 XLA devices, and this machine has 4.* 1 or 4"):
        resolve_devices(replace(processor, devices=3))


def test_a_runtime_of_another_kind(monkeypatch, torch_xla, processor):
    monkeypatch.setenv("PJRT_DEVICE", "TPU")
    with pytest.raises(UserError, match="hardware=xla_cpu needs PJRT_DEVICE=CPU, and it is TPU"):
        resolve_devices(processor)


def test_a_host_without_a_tpu(monkeypatch, torch_xla):
    monkeypatch.setattr(xla.XLAAccelerator, "is_available", staticmethod(lambda: False))
    with pytest.raises(UserError, match="hardware=tpu_v3 needs a TPU, and none is attached"):
        resolve_devices(composed("hardware=tpu_v3").hardware)


def test_sixteen_bit_floats_are_no_choice(mate, capsys):
    assert mate("train", "hardware=xla_cpu", "hardware.precision=16-mixed") == 2
    error = capsys.readouterr().err
    assert "hardware.precision" in error
    assert "bf16-mixed" in error
    assert "16-mixed" in error


@pytest.mark.parametrize("accelerator", ["tpu", "xla_cpu"])
def test_what_only_other_devices_do(accelerator, processor):
    assert accelerator in ACCELERATORS
    (line,) = problems(replace(processor, accelerator=accelerator, recompute=True, strategy="fsdp"))
    assert line.startswith("strategy=fsdp is for processors and GPUs")


def test_one_program_is_for_several_xla_devices(monkeypatch, torch_xla, processor):
    (line,) = problems(replace(processor, accelerator="cpu", strategy="spmd"))
    assert line.startswith("strategy=spmd is for XLA devices; leave it out")
    one_program = replace(processor, devices=None, strategy="spmd")
    with pytest.raises(UserError, match=r"strategy=spmd divides .*set hardware.devices \(here are 1\)"):
        resolve_devices(one_program)
    monkeypatch.setenv("CPU_NUM_DEVICES", "4")
    devices = resolve_devices(one_program)
    assert (devices.world_size, devices.of_process, devices.replicas) == (4, 4, False)
    assert (devices.alone().of_process, devices.alone().strategy) == (1, "auto")


@pytest.mark.parametrize("key", ["runs", "cache"])
def test_an_address_is_no_folder(key):
    (line,) = problems(PathsConfig(**{key: "gs://bucket/mate"}))
    assert line.startswith(f"{key}=gs://bucket/mate is an address, not a folder; mount")


def test_no_validation_can_follow_the_last_step_of_replicas(monkeypatch, tmp_path, cache):
    monkeypatch.setattr(fit, "start_xla", lambda *_: None)
    monkeypatch.setenv("MATE_CACHE", str(cache))
    words = ("task=sample", "model=mate", "backbone=tiny", "schedule=smoke", "hardware=xla_cpu")
    schedule = ("task.schedules.smoke.steps=3", "task.schedules.smoke.validate_every=2")
    devices = Devices("xla_cpu", 2, 1, "32-true", "auto")
    with pytest.raises(UserError, match="validate_every=2 does not divide 3 steps, and on several XLA devices"):
        fit.build_setup(composed(*words, *schedule), devices, RunFolder(tmp_path), Console(quiet=True))


def test_a_backend_of_many_shapes_is_refused():
    from mate_cli.models.configuration import MateConfig
    from mate_cli.models.variants import make_planner

    with pytest.raises(UserError, match="backend=ragged makes XLA compile again for each batch"):
        make_planner(MateConfig(), "ragged", "xla")


def test_a_runtime_of_more_replicas_than_the_profile_says(monkeypatch):
    from pytorch_lightning.strategies import XLAStrategy
    from pytorch_lightning.utilities import rank_zero_only

    runtime = {"__init__": lambda _: None, "setup_distributed": lambda _: None, "global_rank": 0, "world_size": 4}
    for name, own in runtime.items():
        monkeypatch.setattr(XLAStrategy, name, own)
    monkeypatch.setattr(rank_zero_only, "rank", rank_zero_only.rank)
    with pytest.raises(UserError, match=r"the runtime has 4 devices, and the profile's .* are 2"):
        xla.Replicas(2).setup_distributed()
