"""What training on XLA devices needs beyond Lightning's own: TPUs, and torch-xla's processor, which tests use.

Nothing here imports torch-xla before it is asked for: it needs an environment of its own (docs/tpu.md).
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
        UserError: torch-xla is not here, does not fit this torch, or has no such device.
    """
    if importlib.util.find_spec("torch_xla") is None:
        raise UserError(
            f"hardware={hardware.name} needs torch-xla, which excludes every torch but 2.9: make {_ENVIRONMENT}; "
            "or use hardware=cpu"
        )
    if hardware.accelerator == "xla_cpu":
        _check_processor(hardware)
    try:
        import torch_xla  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"hardware={hardware.name}: the torch-xla that is installed does not fit torch {torch.__version__} "
            f"({str(error).splitlines()[0]}); make {_ENVIRONMENT}"
        ) from error
    if hardware.accelerator == "tpu" and not XLAAccelerator.is_available():
        raise UserError(f"hardware={hardware.name} needs a TPU, and none is attached to this machine; use hardware=cpu")
    found, needed = xla_devices(hardware.accelerator), hardware.devices or 1
    if needed not in (1, found):
        raise UserError(
            f"hardware={hardware.name} needs {needed} XLA devices, and this machine has {found}; torch-xla works with "
            f"one or all: set hardware.devices to 1 or {found}"
        )


def xla_devices(accelerator: str) -> int:
    """How many of them this machine has."""
    return (XLAProcessor if accelerator == "xla_cpu" else XLAAccelerator).auto_device_count()


def start_xla(cache: Path) -> None:
    """Keep compiled programs in a folder, for the next process; must come before the first use of a device.

    The runtime reads both from the environment, and so do the processes that it starts.
    """
    os.environ.setdefault("XLA_PERSISTENT_CACHE_PATH", str(cache / "xla"))


def seed_xla(seed: int) -> None:
    """Seed the generator of the current device: ``torch.manual_seed`` does not reach it."""
    import torch_xla

    torch_xla.manual_seed(seed % 2**31)


def gather_objects(own: Any) -> list[Any]:
    """What each replica has, by rank."""
    import torch_xla.core.xla_model as xm

    sent = xm.rendezvous("objects", pickle.dumps(own))
    return [pickle.loads(other) for other in sent]  # noqa: S301  (of the replicas of this run)


class XLAProcessor(XLAAccelerator):
    """torch-xla's own processor: ``PJRT_DEVICE=CPU``, with ``CPU_NUM_DEVICES`` devices."""

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
        """The processor has no memory of its own to tell of."""
        return {}

    @staticmethod
    def name() -> str:
        return "xla_cpu"


class MixedPrecision(XLAPrecision):
    """Products in bf16, weights and the optimizer's state in 32 bits, as elsewhere; Lightning has no such for XLA.

    Its ``bf16-true`` turns all numbers into bf16, the optimizer's too, and its ``16-true`` changes nothing.
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
    """An int that is the rank of the calling thread's replica; of other threads the lowest one known."""

    def __init__(self) -> None:
        self._own, self._known = threading.local(), [0]

    def set(self, rank: int) -> None:
        self._own.rank = rank
        self._known.append(rank)

    def __int__(self) -> int:
        return int(getattr(self._own, "rank", min(self._known[1:], default=0)))

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
    """Lightning's strategy for several devices where two of them are threads of one process, as on TPU v2 and v3.

    Lightning keeps one rank a process: the last thread's, so that no logger may be left that writes. Batches go to
    their device as on one device alone, for Lightning's loader for XLA cannot take ours apart. Sums over the replicas
    are part of the program, where Lightning's make it wait.

    Args:
        expected: how many replicas the batch was divided among.
    """

    def __init__(self, expected: int) -> None:
        super().__init__()
        self.expected = expected

    def setup_distributed(self) -> None:
        super().setup_distributed()
        _rank.set(self.global_rank)
        rank_zero_only.rank = _rank  # type: ignore[attr-defined]
        if self.world_size != self.expected:
            raise UserError(
                f"the runtime has {self.world_size} replicas, and the profile's hardware.devices times hardware.nodes "
                f"are {self.expected}: take the profile of this TPU"
            )

    def reduce(self, output: Any, group: Any = None, reduce_op: Any = "mean") -> torch.Tensor:
        """The sum or the mean of a number over the replicas."""
        import torch_xla.core.xla_model as xm

        total = xm.all_reduce("sum", torch.as_tensor(output, device=self.root_device))
        return total / self.world_size if reduce_op in ("mean", "avg") else total

    def process_dataloader(self, dataloader: object) -> Any:
        return dataloader


class SyncEachBatch(pl.Callback):
    """Cuts the graph after each micro-batch; else all of an optimizer step would be one program, as large as they.

    And before the first one: the optimizer's state would be made in its program, and the second need another.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        import torch_xla

        torch_xla.sync()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        import torch_xla

        torch_xla.sync()


def trainer_arguments(on_processor: bool, devices: int, replicas: int, precision: str) -> dict[str, Any]:
    """Arguments of ``pl.Trainer`` for XLA devices; the runtime knows how many machines there are.

    Args:
        on_processor: use torch-xla's processor, not a TPU.
        devices: per machine; replicas: over all machines, 1 where a single device works alone.
    """
    return {
        "accelerator": XLAProcessor() if on_processor else "tpu",
        "devices": devices,
        "strategy": Replicas(replicas) if replicas > 1 else "auto",
        "plugins": [MixedPrecision()] if precision == "bf16-mixed" else None,
    }


def _check_processor(hardware: HardwareConfig) -> None:
    if os.environ.setdefault("PJRT_DEVICE", "CPU") != "CPU":
        raise UserError(f"hardware={hardware.name} needs PJRT_DEVICE=CPU, and it is {os.environ['PJRT_DEVICE']}")
