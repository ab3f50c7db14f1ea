"""Training on torch-xla's processor, with what it compiled and what it left to the CPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest
import torch
from rich.console import Console

from mate_cli.runs.folder import RunFolder
from mate_cli.system.processor import processor_name
from mate_cli.training import fit
from mate_cli.training.xla import SyncEachBatch
from tests.training.test_every_model import composed

SMALL = (
    "backbone=tiny",
    "schedule=smoke",
    "task.schedules.smoke.batch=4",
    "task.schedules.smoke.max_tokens=96",
    "task.schedules.smoke.validate_on=6",
)


@pytest.fixture(autouse=True, scope="module")
def device_before_the_first_gradient():
    """PyTorch counts devices when it first computes a gradient, and knows of none that come later."""
    import torch_xla  # noqa: F401

    torch.zeros(1, device="xla")


ABOUT = """\
# Compilations, step times and fallbacks on torch-xla

`make test-xla` writes this table, with torch-xla on the CPU and no TPU. Each training of a tiny model starts with an
empty compile cache and takes ten steps, or five steps of four passes. The second column counts from the first step to
the last; the third also counts moving the weights, validation and checkpoints. Programs that an earlier training of the
process compiled are not compiled again. A step's time is the median of the steps after the first, or of a pass where a
step has several. Times are of {cores} cores ({processor}) that may have had other work, without XLA's optimizing
passes: they compare a compilation with a step, and tell nothing about a TPU.

| training | programs of the steps | programs in total | compiling, s | a step, ms | operations left to the CPU |
|---|---|---|---|---|---|"""


@dataclass
class Counts:
    """
    Attributes:
        compilations: after each micro-batch, how many there have been since training began.
        at_end: the same at the end, validation and checkpoints among them.
        compiling: seconds that all compilations took.
        times: seconds between the ends of one micro-batch and the next; the first, which compiles, is not among them.
        fallbacks: operations that ran on the CPU, and how often; reading one number is none.
    """

    compilations: list[int] = field(default_factory=list)
    at_end: int = 0
    compiling: float = 0.0
    times: list[float] = field(default_factory=list)
    fallbacks: dict[str, int] = field(default_factory=dict)


def train(runs: Path, cache: Path, *words: str) -> tuple[RunFolder, Counts]:
    """``mate train`` with an empty compile cache, up to the evaluation."""
    import torch_xla.core.xla_model as xm
    import torch_xla.debug.metrics as metrics

    counts = Counts()

    def compiled() -> tuple[int, float]:
        """How many programs, and nanoseconds."""
        return (metrics.metric_data("CompileTime") or (0, 0.0))[:2]

    class Counting(SyncEachBatch):
        def on_train_start(self, trainer, pl_module) -> None:
            super().on_train_start(trainer, pl_module)
            self.before = compiled()[0]

        def on_train_batch_end(self, trainer, *_) -> None:
            super().on_train_batch_end(trainer)
            xm.wait_device_ops()
            now = perf_counter()
            if counts.compilations:
                counts.times.append(now - self.ended)
            self.ended = now
            counts.compilations.append(compiled()[0] - self.before)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "SyncEachBatch", Counting)
        patch.setenv("XLA_PERSISTENT_CACHE_PATH", "")
        config = composed("hardware=xla_cpu", *SMALL, f"paths.runs={runs}", f"paths.cache={cache}", *words)
        metrics.clear_all()
        folder = fit.train(config, Console(quiet=True))
    counts.at_end, nanoseconds = compiled()
    counts.compiling = nanoseconds / 1e9
    operations = [name for name in metrics.counter_names() if name.startswith("aten::")]
    counts.fallbacks = {name: metrics.counter_value(name) for name in operations if name != "aten::_local_scalar_dense"}
    return folder, counts


def write_table(found: Mapping[str, Counts], path: Path) -> None:
    """A table in Markdown, a line for each training."""
    lines = [ABOUT.format(cores=os.cpu_count(), processor=processor_name())]
    for title, own in found.items():
        fallbacks = ", ".join(f"{name} ({times})" for name, times in own.fallbacks.items()) or "none"
        milliseconds = 1000 * median(own.times)
        numbers = f"{own.compilations[-1]} | {own.at_end} | {own.compiling:.1f} | {milliseconds:.0f}"
        lines.append(f"| `{title}` | {numbers} | {fallbacks} |")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
