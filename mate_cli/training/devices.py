"""From a hardware profile to Lightning's arguments: what is there, how precise, how many micro-batches."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from typing import Any

import torch

from mate_cli.config.hardware import HardwareConfig
from mate_cli.system.errors import UserError
from mate_cli.training import xla


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
        return {"gpu": "cuda", "tpu": "xla", "xla_cpu": "xla"}.get(self.accelerator, self.accelerator)

    @property
    def low_precision(self) -> bool:
        return not self.precision.startswith("32")

    @property
    def replicas(self) -> bool:
        """Whether several XLA devices work together, each in a thread that a runtime of their own starts."""
        return self.device_type == "xla" and self.devices > 1

    def alone(self) -> Devices:
        """The first of them by itself."""
        return replace(self, devices=1, nodes=1, strategy="auto")

    def trainer_arguments(self) -> dict[str, Any]:
        if self.device_type == "xla":
            replicas = self.world_size if self.replicas else 1
            return xla.trainer_arguments(self.accelerator == "xla_cpu", self.devices, replicas, self.precision)
        return {
            "accelerator": self.accelerator,
            "devices": self.devices,
            "num_nodes": self.nodes,
            "precision": self.precision,
            "strategy": self._lightning_strategy(),
        }

    def _lightning_strategy(self) -> Any:
        if self.strategy == "fsdp":
            from mate_cli.training.sharding import ShardedStrategy

            return ShardedStrategy(self.world_size)
        if self.world_size == 1:
            return "auto"
        from pytorch_lightning.strategies import DDPStrategy

        # No cell selector uses the pooler, and what a batch has no answer for leaves a head of table_qa without one.
        return DDPStrategy(find_unused_parameters=True)


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
    if batch % world_size:
        raise UserError(
            f"a batch of {batch} examples does not divide among {world_size} devices; set hardware.devices, times "
            f"hardware.nodes, to a divisor of {batch}"
        )
    micro_batch = min(micro_batch, batch // world_size)
    per_pass = micro_batch * world_size
    if batch % per_pass:
        raise UserError(
            f"a batch of {batch} examples does not divide into {world_size} device(s) x {micro_batch} examples; "
            f"set hardware.micro_batch to a divisor of {batch // world_size}"
        )
    return micro_batch, batch // per_pass


def loader_workers(hardware: HardwareConfig, devices: int = 1) -> int:
    """Processes that build batches for one of a machine's ``devices``: as the profile says, else half of its cores,
    at most 4."""
    if hardware.workers is not None:
        return hardware.workers
    return max(1, min(4, (os.cpu_count() or 1) // 2 // devices))


def _all_devices(accelerator: str) -> int:
    """Every device of this machine; a CPU counts as one."""
    if accelerator == "gpu":
        return torch.cuda.device_count()
    return xla.xla_devices(accelerator) if accelerator in ("tpu", "xla_cpu") else 1


def _has_native_bf16(accelerator: str) -> bool:
    """Whether bfloat16 products run in hardware; emulated ones are slower than float32."""
    if accelerator == "gpu":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if accelerator == "cpu":
        capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
        return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return accelerator == "tpu"


def _check_cpu(hardware: HardwareConfig) -> None:
    found, needed = os.cpu_count() or 1, hardware.devices or 1
    if found < needed:
        raise UserError(
            f"hardware.devices={needed} needs as many cores, this machine has {found}; set it to at most {found}"
        )


def _check_gpu(hardware: HardwareConfig) -> None:
    found, needed = torch.cuda.device_count(), hardware.devices or 1
    if found < needed:
        way_out = f"set hardware.devices to at most {found}" if found else "use hardware=cpu"
        raise UserError(
            f"hardware={hardware.name} needs {needed} CUDA GPU(s), this machine has {found}; "
            f"{way_out}, or see `mate doctor`"
        )


_ACCELERATOR_CHECKS = {"cpu": _check_cpu, "gpu": _check_gpu, "tpu": xla.check_xla, "xla_cpu": xla.check_xla}
