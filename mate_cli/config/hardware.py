"""The configuration of the hardware: which devices compute, how precisely, and how much at a time."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING

from mate_cli.config.rules import key

ACCELERATORS = ("auto", "cpu", "gpu", "tpu", "xla_cpu")
PRECISIONS = ("auto", "32", "bf16-mixed")
STRATEGIES = ("auto", "ddp", "fsdp")


@dataclass
class HardwareConfig:
    """Devices to run on. No option changes the batch, the number of steps or the data."""

    name: str = key(MISSING, "name of the option")
    accelerator: str = key("auto", "kind of device", choices=ACCELERATORS)
    devices: int | None = key(None, "devices per machine; null: all (cpu: one process)", low=1)
    nodes: int = key(1, "machines", low=1)
    precision: str = key("auto", "arithmetic of the model; auto: bf16-mixed where it pays", choices=PRECISIONS)
    strategy: str = key("auto", "each device a whole model (auto, ddp) or a share of it (fsdp)", choices=STRATEGIES)
    micro_batch: int = key(MISSING, "examples per device and pass; the rest of the batch is accumulated", low=1)
    recompute: bool = key(False, "keep no layer's insides for the backward pass: less memory, a third more work")
    workers: int | None = key(None, "processes that load data; null: by the number of cores", low=0)

    def problems(self) -> list[str]:
        """Return a line for what PyTorch does on processors and GPUs alone, asked of another device."""
        if self.accelerator in ("tpu", "xla_cpu") and self.strategy == "fsdp":
            return ["strategy=fsdp is for processors and GPUs; leave it out on XLA devices"]
        return []
