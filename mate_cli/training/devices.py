"""Hardware profiles: check the devices, choose precision and micro-batches, make Lightning's arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import torch

from mate_cli.config.choices import one_for_each
from mate_cli.config.hardware import ACCELERATORS, HardwareConfig
from mate_cli.system.errors import UserError
from mate_cli.system.processor import processor_name
from mate_cli.system.products import bf16_speedup, has_bf16_instructions

# Least speed-up of products for which a CPU computes in bf16: the conversions around them take time too.
_WORTH_BF16 = 1.2

GPUS_OF_A_MACHINE = 8


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
        """True for several XLA devices with a program each; their runtime starts a thread or process for each."""
        return self.device_type == "xla" and self.devices > 1 and self.strategy != "spmd"

    @property
    def of_process(self) -> int:
        """Devices that one process gives their batches: all of the machine if they run one program."""
        return self.devices if self.strategy == "spmd" else 1

    def alone(self) -> Devices:
        """The same profile on a single device."""
        return replace(self, devices=1, nodes=1, strategy="auto")

    def trainer_arguments(self) -> dict[str, Any]:
        if self.device_type == "xla":
            from mate_cli.training.xla import trainer_arguments

            # Of one program Lightning sees one device.
            devices = self.devices // self.of_process
            return trainer_arguments(self.accelerator == "xla_cpu", devices, self._xla_strategy(), self.precision)
        return {
            "accelerator": self.accelerator,
            "devices": self.devices,
            "num_nodes": self.nodes,
            "precision": self.precision,
            "strategy": self._lightning_strategy(),
        }

    def _xla_strategy(self) -> Any:
        if self.strategy == "spmd":
            from mate_cli.training.spmd import OneProgram

            return OneProgram(self.world_size)
        if self.replicas:
            from mate_cli.training.xla import Replicas

            return Replicas(self.world_size)
        return "auto"

    def _lightning_strategy(self) -> Any:
        if self.strategy == "fsdp":
            from mate_cli.training.sharding import ShardedStrategy

            return ShardedStrategy(self.world_size)
        if self.world_size == 1:
            return "auto"
        from pytorch_lightning.strategies import DDPStrategy

        # A cell selector never uses the pooler; a head of table_qa has no gradient in a batch without its labels.
        return DDPStrategy(find_unused_parameters=True)


def device_name(devices: Devices) -> str:
    """The name of the processor or accelerator, as far as known."""
    if devices.device_type == "cuda":
        return torch.cuda.get_device_name()
    return processor_name() if devices.device_type == "cpu" else devices.accelerator


def resolve_devices(hardware: HardwareConfig) -> Devices:
    """Check that the devices of a profile exist and resolve its "auto" values on this machine.

    Raises:
        UserError: a device is missing.
    """
    accelerator = hardware.accelerator
    if accelerator == "auto":
        accelerator = "gpu" if torch.cuda.is_available() else "cpu"
    _ACCELERATOR_CHECKS[accelerator](hardware)
    precision = hardware.precision
    if precision == "auto":
        precision = "bf16-mixed" if _bf16_pays(accelerator) else "32-true"
    devices = hardware.devices or _all_devices(accelerator)
    return Devices(accelerator, devices, hardware.nodes, precision, hardware.strategy)


def planned_devices(hardware: HardwareConfig) -> Devices:
    """Resolve a profile for devices that need not be here; of GPUs, where none is, as many as a machine often has."""
    accelerator = hardware.accelerator
    if accelerator == "auto":
        accelerator = "gpu" if torch.cuda.is_available() else "cpu"
    precision = hardware.precision
    if precision == "auto":
        precision = "bf16-mixed" if accelerator in ("gpu", "tpu") or _bf16_pays(accelerator) else "32-true"
    devices = hardware.devices or (torch.cuda.device_count() or GPUS_OF_A_MACHINE if accelerator == "gpu" else 1)
    return Devices(accelerator, devices, hardware.nodes, precision, hardware.strategy)


def has_slow_bf16(devices: Devices) -> bool:
    """True if a CPU is to compute in bf16 and multiplies more slowly in it than in 32 bits."""
    return devices.accelerator == "cpu" and devices.low_precision and bf16_speedup() < 1


def accumulation(batch: int, micro_batch: int, world_size: int) -> tuple[int, int]:
    """Return the micro-batch and the number of backward passes that make up a global batch exactly.

    Args:
        micro_batch: most examples of a device and pass; the largest number that divides the device's share is taken.

    Raises:
        UserError: the batch does not divide among the devices.
    """
    if batch % world_size:
        raise UserError(
            f"a batch of {batch} examples does not divide among {world_size} devices; set hardware.devices, times "
            f"hardware.nodes, to a divisor of {batch}"
        )
    share = batch // world_size
    micro_batch = largest_divisor(share, micro_batch)
    return micro_batch, share // micro_batch


def largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of ``number`` that is at most ``most``."""
    return max(divisor for divisor in range(1, min(number, most) + 1) if number % divisor == 0)


def loader_workers(hardware: HardwareConfig, devices: int = 1, of_process: int = 1) -> int:
    """Processes that build batches for one process: as in the profile, or up to 4 for each device, of half the cores.

    Args:
        devices: of the machine; of_process: those of this process.
    """
    if hardware.workers is not None:
        return hardware.workers
    return max(1, min(4 * of_process, (os.cpu_count() or 1) // 2 * of_process // devices))


def _all_devices(accelerator: str) -> int:
    """The number of devices of this machine; a CPU counts as one."""
    if accelerator == "gpu":
        return torch.cuda.device_count()
    if accelerator in ("tpu", "xla_cpu"):
        from mate_cli.training.xla import xla_devices

        return xla_devices(accelerator)
    return 1


def _bf16_pays(accelerator: str) -> bool:
    """True if products in bf16 run in hardware and, on a CPU, are clearly faster here than in 32 bits."""
    if accelerator == "gpu":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if accelerator == "cpu":
        return has_bf16_instructions() and bf16_speedup() > _WORTH_BF16
    return accelerator == "tpu"


def _check_cpu(hardware: HardwareConfig) -> None:
    cores, needed = os.cpu_count() or 1, hardware.devices or 1
    if cores < needed:
        raise UserError(
            f"hardware.devices={needed} needs as many cores, this machine has {cores}; set it to at most {cores}"
        )


def _check_gpu(hardware: HardwareConfig) -> None:
    gpus, needed = torch.cuda.device_count(), hardware.devices or 1
    if gpus < needed:
        way_out = f"set hardware.devices to at most {gpus}" if gpus else "use hardware=cpu"
        raise UserError(
            f"hardware={hardware.name} needs {needed} CUDA GPU(s), this machine has {gpus}; "
            f"{way_out}, or see `mate doctor`"
        )


def _check_xla(hardware: HardwareConfig) -> None:
    from mate_cli.training.xla import check_xla

    check_xla(hardware)


_ACCELERATOR_CHECKS = one_for_each(
    (name for name in ACCELERATORS if name != "auto"),
    {"cpu": _check_cpu, "gpu": _check_gpu, "tpu": _check_xla, "xla_cpu": _check_xla},
)
