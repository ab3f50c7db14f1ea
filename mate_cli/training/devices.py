"""From a hardware profile to Lightning's arguments: what is there, how precise, how many micro-batches."""

from __future__ import annotations

import importlib.util
import os
import platform
from dataclasses import dataclass
from typing import Any

import torch

from mate_cli.config import HardwareConfig
from mate_cli.errors import UserError


@dataclass(frozen=True)
class Devices:
    """A hardware profile resolved on this machine."""

    accelerator: str
    devices: int
    nodes: int
    precision: str
    strategy: str

    @property
    def world_size(self) -> int:
        return self.devices * self.nodes

    @property
    def device_type(self) -> str:
        return {"gpu": "cuda", "tpu": "xla"}.get(self.accelerator, self.accelerator)

    @property
    def low_precision(self) -> bool:
        return not self.precision.startswith("32")

    def trainer_arguments(self) -> dict[str, Any]:
        return {
            "accelerator": self.accelerator,
            "devices": self.devices,
            "num_nodes": self.nodes,
            "precision": self.precision,
            "strategy": self.strategy,
        }


def device_name(devices: Devices) -> str:
    """What the devices call themselves, as far as it is known."""
    if devices.device_type == "cuda":
        return torch.cuda.get_device_name()
    return platform.processor() or platform.machine() if devices.device_type == "cpu" else devices.accelerator


def resolve_devices(hardware: HardwareConfig) -> Devices:
    """Check that the profile's devices exist here and fill in what it leaves to the machine.

    Raises:
        UserError: the accelerator is not there, naming what is missing and the way out.
    """
    accelerator = hardware.accelerator
    if accelerator == "auto":
        accelerator = "gpu" if torch.cuda.is_available() else "cpu"
    _ACCELERATOR_CHECKS[accelerator](hardware)
    precision = hardware.precision
    if precision == "auto":
        precision = "bf16-mixed" if _has_native_bf16(accelerator) else "32-true"
    devices = hardware.devices or _all_devices(accelerator)
    return Devices(accelerator, devices, hardware.nodes, precision, hardware.strategy)


def accumulation(batch: int, micro_batch: int, world_size: int) -> tuple[int, int]:
    """Micro-batch and number of backward passes that make up a global batch exactly.

    Raises:
        UserError: they leave a remainder.
    """
    micro_batch = min(micro_batch, max(1, batch // world_size))
    per_pass = micro_batch * world_size
    if batch % per_pass:
        raise UserError(
            f"a batch of {batch} examples does not divide into {world_size} device(s) x {micro_batch} examples; "
            f"set hardware.micro_batch to a divisor of {batch // world_size or 1}"
        )
    return micro_batch, batch // per_pass


def loader_workers(hardware: HardwareConfig) -> int:
    """Processes that build batches: as the profile says, else one for each spare core, at most 4."""
    if hardware.workers is not None:
        return hardware.workers
    return max(1, min(4, (os.cpu_count() or 1) // 2))


def _all_devices(accelerator: str) -> int:
    """Every device of this machine; a CPU counts as one."""
    if accelerator == "gpu":
        return torch.cuda.device_count()
    if accelerator == "tpu":
        from pytorch_lightning.accelerators import XLAAccelerator

        return XLAAccelerator.auto_device_count()
    return 1


def _has_native_bf16(accelerator: str) -> bool:
    """Whether bfloat16 products run in hardware; emulated ones are slower than float32."""
    if accelerator == "gpu":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if accelerator == "cpu":
        capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
        return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return True


def _check_cpu(hardware: HardwareConfig) -> None:
    del hardware


def _check_gpu(hardware: HardwareConfig) -> None:
    found, needed = torch.cuda.device_count(), hardware.devices or 1
    if found < needed:
        raise UserError(
            f"hardware={hardware.name} needs {needed} CUDA GPU(s), this machine has {found}; "
            "use hardware=cpu, or see `mate doctor`"
        )


def _check_tpu(hardware: HardwareConfig) -> None:
    if importlib.util.find_spec("torch_xla") is None:
        raise UserError(
            f"hardware={hardware.name} needs torch-xla, which is not installed; use hardware=cpu, or an environment "
            "of its own with torch 2.9 and torch-xla 2.9 on a TPU host"
        )
    from pytorch_lightning.accelerators import XLAAccelerator

    if not XLAAccelerator.is_available():
        raise UserError(f"hardware={hardware.name} needs a TPU, and none is attached to this machine; use hardware=cpu")


_ACCELERATOR_CHECKS = {"cpu": _check_cpu, "gpu": _check_gpu, "tpu": _check_tpu}
