"""Training on torch-xla's processor, with what it compiled and what it left to the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from rich.console import Console

from mate_cli.runs.folder import RunFolder
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
# Compilations and fallbacks on torch-xla

`make test-xla` writes this table, with torch-xla on the CPU and no TPU. Each training of a tiny model starts with an
empty compile cache and takes ten steps, or five steps of four passes. The second column counts from the first step to
the last; the third also counts moving the weights, validation and checkpoints. Programs that an earlier training of the
process compiled are not compiled again.

| training | programs compiled for the steps | programs in total | operations that fall back to the CPU |
|---|---|---|---|"""


@dataclass
class Counts:
    """
    Attributes:
        compilations: after each micro-batch, how many there have been since training began.
        at_end: the same at the end, validation and checkpoints among them.
        fallbacks: operations that ran on the CPU, and how often; reading one number is none.
    """

    compilations: list[int] = field(default_factory=list)
    at_end: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)


def train(runs: Path, cache: Path, *words: str) -> tuple[RunFolder, Counts]:
    """``mate train`` with an empty compile cache, up to the evaluation."""
    import torch_xla.debug.metrics as metrics

    counts = Counts()

    def compiled() -> int:
        return (metrics.metric_data("CompileTime") or (0,))[0]

    class Counting(SyncEachBatch):
        def on_train_start(self, trainer, pl_module) -> None:
            super().on_train_start(trainer, pl_module)
            self.before = compiled()

        def on_train_batch_end(self, trainer, *_) -> None:
            super().on_train_batch_end(trainer)
            counts.compilations.append(compiled() - self.before)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "SyncEachBatch", Counting)
        patch.setenv("XLA_PERSISTENT_CACHE_PATH", "")
        config = composed("hardware=xla_cpu", *SMALL, f"paths.runs={runs}", f"paths.cache={cache}", *words)
        metrics.clear_all()
        folder = fit.train(config, Console(quiet=True))
    counts.at_end = compiled()
    operations = [name for name in metrics.counter_names() if name.startswith("aten::")]
    counts.fallbacks = {name: metrics.counter_value(name) for name in operations if name != "aten::_local_scalar_dense"}
    return folder, counts


def write_table(found: Mapping[str, Counts], path: Path) -> None:
    """A table in Markdown, a line for each training."""
    lines = [ABOUT]
    for title, own in found.items():
        fallbacks = ", ".join(f"{name} ({times})" for name, times in own.fallbacks.items()) or "none"
        lines.append(f"| `{title}` | {own.compilations[-1]} | {own.at_end} | {fallbacks} |")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
