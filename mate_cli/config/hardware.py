"""The configuration of the hardware: which devices compute, how precisely, and how much at a time."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING

from mate_cli.config.rules import key

ACCELERATORS = ("auto", "cpu", "gpu", "tpu", "xla_cpu")
PRECISIONS = ("auto", "32", "bf16-mixed")
STRATEGIES = ("auto", "ddp", "fsdp", "spmd")
_PREDICTED = 4  # where the micro-batch of training follows from memory


@dataclass
class HardwareConfig:
    """Devices to run on. No option changes the batch, the number of steps or the data."""

    name: str = key(MISSING, "name of the option")
    accelerator: str = key("auto", "kind of device", choices=ACCELERATORS)
    devices: int | None = key(None, "devices per machine; null: all (cpu: one process)", low=1)
    nodes: int = key(1, "machines", low=1)
    precision: str = key("auto", "arithmetic of the model; auto: bf16-mixed where it pays", choices=PRECISIONS)
    strategy: str = key(
        "auto",
        "each device a whole model (auto, ddp), a share of it (fsdp), or one program over all XLA devices (spmd)",
        choices=STRATEGIES,
    )
    memory: float | None = key(None, "GiB of a device; null: a GPU says it itself, others are not checked", above=0)
    micro_batch: int | None = key(
        None, "most examples per device and pass, the rest is accumulated; null: as many as fit memory", low=1
    )
    recompute: bool | None = key(
        None,
        "compute each layer again in the backward pass: less memory, a third more work; null: if nothing else fits",
    )
    workers: int | None = key(None, "processes that load data; null: by the number of cores", low=0)

    def problems(self) -> list[str]:
        """Return lines for strategies of other devices, and for a size that nothing tells."""
        problems, on_xla = [], self.accelerator in ("tpu", "xla_cpu")
        if on_xla and self.strategy == "fsdp":
            problems.append("strategy=fsdp is for processors and GPUs; leave it out on XLA devices")
        if not on_xla and self.strategy == "spmd":
            problems.append("strategy=spmd is for XLA devices; leave it out on processors and GPUs")
        if self.micro_batch is None and self.memory is None:
            problems.append("micro_batch is missing: set it, or memory, from which it follows")
        return problems

    @property
    def prediction_batch(self) -> int:
        """Examples that predictions take at a time; without a backward pass some fit any device."""
        return self.micro_batch or _PREDICTED
