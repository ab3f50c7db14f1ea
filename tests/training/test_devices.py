"""Profiles on this machine: what they resolve to, and what is refused in one line."""

from __future__ import annotations

import os
import time
from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.plain import to_plain
from mate_cli.runs.folder import FollowedFolder, RunFolder
from mate_cli.runs.identity import Identity, identity_of
from mate_cli.system.errors import UserError
from mate_cli.system.products import product_rate
from mate_cli.system.ranks import is_first_rank
from mate_cli.training import devices as devices_module
from mate_cli.training.devices import Devices, accumulation, has_slow_bf16, loader_workers, resolve_devices
from tests.config.test_config import train_config

RANK_VARIABLES = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID")
CPU = HardwareConfig(name="cpu", accelerator="cpu", devices=1, micro_batch=4)


@given(st.integers(1, 256), st.integers(1, 40), st.integers(1, 12))
def test_accumulation_keeps_the_batch_in_the_fewest_passes(batch, micro_batch, world_size):
    if batch % world_size:
        with pytest.raises(UserError, match=r"\A[^\n]* set hardware\.[^\n]*\Z"):
            accumulation(batch, micro_batch, world_size)
    else:
        own, passes = accumulation(batch, micro_batch, world_size)
        assert own * passes * world_size == batch
        assert own <= micro_batch
        assert not any(own * passes % more == 0 for more in range(own + 1, micro_batch + 1))


def test_a_batch_smaller_than_the_number_of_devices():
    with pytest.raises(UserError, match=r"a batch of 4 examples does not divide among 8 devices; set hardware.devices"):
        accumulation(4, 16, 8)


def test_more_processes_than_cores():
    cores = os.cpu_count()
    with pytest.raises(UserError, match=rf"hardware.devices={cores + 1}.* this machine has {cores}"):
        resolve_devices(replace(CPU, devices=cores + 1))


@pytest.mark.parametrize(("there", "way_out"), [(0, "use hardware=cpu"), (2, "set hardware.devices to at most 2")])
def test_more_gpus_than_there_are(monkeypatch, there, way_out):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    with pytest.raises(UserError, match=f"needs 3 CUDA GPU.*{way_out}") as caught:
        resolve_devices(replace(CPU, name="gpu_ddp", accelerator="gpu", devices=3))
    assert "\n" not in str(caught.value)


def test_loader_workers_are_shared_among_the_devices(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    assert [loader_workers(CPU, devices) for devices in (1, 2, 4, 8, 16)] == [4, 4, 2, 1, 1]
    assert loader_workers(replace(CPU, workers=3), 8) == 3
    assert [loader_workers(CPU, devices, devices) for devices in (1, 2, 4, 8)] == [4, 8, 8, 8]


def test_predictions_are_made_on_one_of_the_devices():
    alone = Devices("gpu", 8, 2, "bf16-mixed", "ddp").alone()
    assert (alone.world_size, alone.trainer_arguments()["strategy"]) == (1, "auto")


@pytest.mark.parametrize(
    ("variables", "first"),
    [
        ({}, True),
        ({"RANK": "0", "LOCAL_RANK": "0"}, True),
        ({"RANK": "8", "LOCAL_RANK": "0"}, False),
        ({"LOCAL_RANK": "0", "NODE_RANK": "0"}, True),
        ({"LOCAL_RANK": "1", "SLURM_PROCID": "0"}, False),
        ({"NODE_RANK": "1"}, False),
        ({"SLURM_PROCID": "3"}, False),
        ({"SLURM_PROCID": "0"}, True),
    ],
)
def test_the_first_rank_is_told_by_whatever_started_it(monkeypatch, variables, first):
    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_first_rank() is first


def test_other_ranks_leave_the_run_folder_alone(tmp_path):
    own, other = RunFolder(tmp_path / "run"), FollowedFolder(tmp_path / "run")
    assert own.claim(resume=False, overwrite=False, identity=Identity({}))
    own.record_start({"seed": 1}, ["mate"], {}, None)
    own.set_status("running", step=3)
    before = {file.name: file.read_bytes() for file in own.path.iterdir()}
    assert not other.claim(resume=False, overwrite=False, identity=Identity({"seed": 2}))
    other.clear()
    other.record_start({"seed": 2}, ["mate"], {}, None)
    other.set_status("trained", step=9)
    assert {file.name: file.read_bytes() for file in own.path.iterdir()} == before
    other.set_status("failed", error="no memory")
    other.set_status("failed", error="the connection was closed")
    assert own.status()["error"] == "no memory"


@pytest.mark.parametrize("changed", sorted({key.name for key in fields(HardwareConfig)} - {"precision"}))
def test_a_run_may_be_resumed_on_other_hardware(tmp_path, changed):
    folder, plain = RunFolder(tmp_path), to_plain(train_config("backbone=tiny"))
    folder.record_start(plain | {"hardware": {changed: 1, "precision": "32"}}, [], {}, None)
    moved = plain | {"hardware": {changed: 2, "precision": "32"}}
    assert not folder.claim(resume=True, overwrite=False, identity=identity_of(moved, None, None))


def test_but_not_in_another_precision(tmp_path):
    folder, plain = RunFolder(tmp_path), to_plain(train_config("backbone=tiny"))
    folder.record_start(plain | {"hardware": {"devices": 1, "precision": "32"}}, [], {}, None)
    moved = plain | {"hardware": {"devices": 2, "precision": "bf16-mixed"}}
    with pytest.raises(UserError, match=r"another hardware\.precision"):
        folder.claim(resume=True, overwrite=False, identity=identity_of(moved, None, None))


@pytest.mark.parametrize(
    ("capabilities", "speedup", "asked", "precision", "is_slow"),
    [
        ({"avx2": True}, 0.1, "auto", "32-true", False),
        ({"avx512_bf16": True}, 0.5, "auto", "32-true", False),
        ({"avx512_bf16": True}, 2.0, "auto", "bf16-mixed", False),
        ({"amx_bf16": True}, 5.0, "auto", "bf16-mixed", False),
        ({"avx2": True}, 0.1, "bf16-mixed", "bf16-mixed", True),
        ({"avx512_bf16": True}, 2.0, "bf16-mixed", "bf16-mixed", False),
        ({"avx2": True}, 0.1, "32", "32", False),
    ],
)
def test_a_processor_computes_in_bf16_where_it_is_faster(
    capabilities: dict[str, bool],
    speedup: float,
    asked: str,
    precision: str,
    is_slow: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    monkeypatch.setattr(devices_module, "bf16_speedup", lambda: speedup)
    hardware = HardwareConfig(name="cpu", accelerator="cpu", devices=1, precision=asked, micro_batch=1)
    devices = resolve_devices(hardware)
    assert devices.precision == precision
    assert has_slow_bf16(devices) == is_slow


def test_the_rate_of_products_is_that_of_a_clock() -> None:
    rate, left, right = product_rate(torch.float32), torch.randn(2048, 384), torch.randn(384, 1536)
    started = time.perf_counter()
    for _ in range(5):
        left @ right
    assert rate > 0.1 * 5 * 2 * left.numel() * right.shape[1] / (time.perf_counter() - started)
