"""Training on XLA devices, as far as Lightning does not support it: TPUs, and torch-xla on the CPU for tests.

torch-xla needs an environment of its own (docs/tpu.md), so it is imported only when used.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.accelerators import XLAAccelerator
from pytorch_lightning.plugins import XLAPrecision
from pytorch_lightning.strategies import XLAStrategy
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError

if TYPE_CHECKING:
    from mate_cli.config.hardware import HardwareConfig

_ENVIRONMENT = f"a fresh environment of its own: {install_command('tpu')} (docs/tpu.md)"


def check_xla(hardware: HardwareConfig) -> None:
    """
    Raises:
        UserError: torch-xla is not installed, does not match this torch, or has no such device.
    """
    if importlib.util.find_spec("torch_xla") is None:
        raise UserError(
            f"hardware={hardware.name} needs torch-xla, which excludes every torch but 2.9: make {_ENVIRONMENT}; "
            "or use hardware=cpu"
        )
    if hardware.accelerator == "xla_cpu" and os.environ.setdefault("PJRT_DEVICE", "CPU") != "CPU":
        raise UserError(f"hardware={hardware.name} needs PJRT_DEVICE=CPU, and it is {os.environ['PJRT_DEVICE']}")
    try:
        import torch_xla  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"hardware={hardware.name}: the torch-xla that is installed does not fit torch {torch.__version__} "
            f"({str(error).splitlines()[0]}); make {_ENVIRONMENT}"
        ) from error
    if hardware.accelerator == "tpu" and not XLAAccelerator.is_available():
        raise UserError(f"hardware={hardware.name} needs a TPU, and none is attached to this machine; use hardware=cpu")
    devices, needed = xla_devices(hardware.accelerator), hardware.devices or 1
    if needed not in (1, devices):
        raise UserError(
            f"hardware={hardware.name} needs {needed} XLA devices, and this machine has {devices}; torch-xla works "
            f"with one or all: set hardware.devices to 1 or {devices}"
        )
    if hardware.strategy == "spmd" and (hardware.devices or devices) == 1:
        raise UserError(
            "hardware.strategy=spmd divides the batch among several XLA devices: leave it out, or set hardware.devices "
            f"(here are {devices})"
        )


def xla_devices(accelerator: str) -> int:
    """The number of XLA devices of this machine."""
    return (XLAProcessor if accelerator == "xla_cpu" else XLAAccelerator).auto_device_count()


def check_runtime(devices: int, expected: int) -> None:
    """
    Raises:
        UserError: the runtime has another number of devices than the batch was divided among.
    """
    if devices != expected:
        raise UserError(
            f"the runtime has {devices} devices, and the profile's hardware.devices times hardware.nodes are "
            f"{expected}: take the profile of this TPU"
        )


def start_xla(cache: Path, one_program: bool) -> None:
    """Keep compiled programs in a folder for later processes; must run before the first use of a device.

    The runtime and the processes it starts read the folder from the environment.

    Args:
        one_program: over all devices, which torch-xla then treats as one.
    """
    os.environ.setdefault("XLA_PERSISTENT_CACHE_PATH", str(cache / "xla"))
    if one_program:
        import torch_xla.runtime as xr

        if not xr.is_spmd():
            xr.use_spmd()


def seed_xla(seed: int) -> None:
    """Seed the generator of the current device, which ``torch.manual_seed`` does not."""
    import torch_xla

    torch_xla.manual_seed(seed % 2**31)


def gather_objects(value: Any) -> list[Any]:
    """Collect a value from each replica, by rank."""
    import torch_xla.core.xla_model as xm

    values = xm.rendezvous("objects", pickle.dumps(value))
    return [pickle.loads(pickled) for pickled in values]  # noqa: S301  (from the replicas of this run)


class XLAProcessor(XLAAccelerator):
    """torch-xla on the CPU: ``PJRT_DEVICE=CPU``, with ``CPU_NUM_DEVICES`` devices."""

    @staticmethod
    def auto_device_count() -> int:  # type: ignore[override]
        return int(os.environ.get("CPU_NUM_DEVICES", "1"))

    @staticmethod
    def is_available() -> bool:  # type: ignore[override]
        return os.environ.get("PJRT_DEVICE") == "CPU"

    @staticmethod
    def parse_devices(devices: Any) -> int:
        return int(devices)

    @staticmethod
    def get_parallel_devices(devices: Any) -> list[torch.device]:
        return [torch.device("xla", number) for number in range(devices)]

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        """Nothing: the CPU has no memory of its own."""
        return {}

    @staticmethod
    def name() -> str:
        return "xla_cpu"


class MixedPrecision(XLAPrecision):
    """Mixed precision for XLA: products in bf16, weights and optimizer state in float32.

    Lightning has none for XLA: its ``bf16-true`` converts the optimizer state too, its ``16-true`` does nothing.
    """

    def __init__(self) -> None:
        super().__init__("32-true")
        self.precision = "bf16-mixed"

    @contextmanager
    def forward_context(self) -> Iterator[None]:
        with torch.autocast("xla", dtype=torch.bfloat16):
            yield


@functools.total_ordering
class _ThreadRank:
    """An int with the rank of the calling thread's replica; for other threads, the lowest rank set."""

    def __init__(self) -> None:
        self._of_thread, self._ranks = threading.local(), list[int]()

    def set(self, rank: int) -> None:
        self._of_thread.rank = rank
        self._ranks.append(rank)

    def __int__(self) -> int:
        return int(getattr(self._of_thread, "rank", min(self._ranks, default=0)))

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return int(self) == other

    def __lt__(self, other: int) -> bool:
        return int(self) < other

    def __hash__(self) -> int:
        return hash(int(self))

    def __bool__(self) -> bool:
        return int(self) != 0


_rank = _ThreadRank()


class Replicas(XLAStrategy):
    """Lightning's strategy for devices that are threads of one process, two by two on TPU v2 and v3.

    Lightning keeps one rank for each process, the last thread's, so a process may have no rank that logs. Batches move
    to their device as on a single device, because Lightning's XLA loader cannot split ours. Sums over the replicas
    are part of the compiled program; Lightning's block.

    Args:
        expected: number of replicas that the batch was divided among.
    """

    def __init__(self, expected: int) -> None:
        super().__init__()
        self.expected = expected

    def setup_distributed(self) -> None:
        super().setup_distributed()
        _rank.set(self.global_rank)
        rank_zero_only.rank = _rank  # type: ignore[attr-defined]
        check_runtime(self.world_size, self.expected)

    def reduce(self, output: Any, group: Any = None, reduce_op: Any = "mean") -> torch.Tensor:
        """The sum or the mean of a number over the replicas."""
        import torch_xla.core.xla_model as xm

        total = xm.all_reduce("sum", torch.as_tensor(output, device=self.root_device))
        return total / self.world_size if reduce_op in ("mean", "avg") else total

    def process_dataloader(self, dataloader: object) -> Any:
        return dataloader


class SyncEachBatch(pl.Callback):
    """Cut the graph after each micro-batch; otherwise an optimizer step would be one large program.

    Also before the first one, whose program would otherwise create the optimizer state and differ from the second.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        import torch_xla

        torch_xla.sync()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        import torch_xla

        torch_xla.sync()


def trainer_arguments(on_processor: bool, devices: int, strategy: Any, precision: str) -> dict[str, Any]:
    """Arguments of ``pl.Trainer`` for XLA devices; the runtime knows how many machines there are.

    Args:
        on_processor: use torch-xla on the CPU, not a TPU.
        devices: on each machine.
    """
    return {
        "accelerator": XLAProcessor() if on_processor else "tpu",
        "devices": devices,
        "strategy": strategy,
        "plugins": [MixedPrecision()] if precision == "bf16-mixed" else None,
    }
