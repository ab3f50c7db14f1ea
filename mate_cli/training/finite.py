"""Stop a training whose loss or gradient is not finite, and keep the batch."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from torch import Tensor

from mate_cli.models.checkpoint import write_tensors
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.system.files import replacing, write_json
from mate_cli.training.divided import DividedBatch
from mate_cli.training.module import TaskModule, logs_step

if TYPE_CHECKING:
    from mate_cli.encoding.batch import Batch

_NAMED = 3


class FiniteLoss(Callback):
    """Check every logged step before anything of it is saved; must be the first callback.

    ``not-finite/step-N-rank-R.json`` in the run folder names the examples and their losses; a ``.safetensors`` file
    beside it holds the tensors of the micro-batch. On XLA devices few steps are logged: reading a number blocks them.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """
        Raises:
            UserError: the loss or the norm of the gradient is infinite or NaN.
        """
        assert isinstance(pl_module, TaskModule)
        if not logs_step(trainer):
            return
        values = {"loss": float(pl_module.step_loss), "gradient": float(pl_module.gradient_norm)}
        wrong = next((name for name, value in values.items() if not math.isfinite(value)), None)
        # All ranks stop together, even those whose own share is finite.
        if trainer.strategy.reduce_boolean_decision(wrong is not None, all=False):
            file, names = self._keep(trainer, pl_module, values)
            what = f"{wrong} is {values[wrong]}" if wrong else "loss of another rank is not finite"
            raise UserError(
                f"step {trainer.global_step}: the {what}{_in_examples(names)}; see its batch in {file}; check the "
                "examples, or train with a smaller lr and another name=NAME",
                exit_code=1,
            )

    def _keep(self, trainer: pl.Trainer, module: TaskModule, values: dict[str, float]) -> tuple[Path, list[str]]:
        """Write the step and its first micro-batch with a loss that is not finite; return the file and its examples."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        place = trainer.global_rank, trainer.world_size
        batches = data.batches_of(trainer.global_step - 1, *place)
        losses = [_by_example(*pair, *place) for pair in zip(batches, module.pass_losses, strict=True)]
        wrong = [[name for name, loss in batch.items() if not math.isfinite(loss)] for batch in losses]
        batch = next((batch for batch, names in zip(batches, wrong, strict=True) if names), batches[0])
        file = self.folder.path / "not-finite" / f"step-{trainer.global_step}-rank-{trainer.global_rank}.json"
        file.parent.mkdir(exist_ok=True)
        with replacing(file.with_suffix(".safetensors")) as temporary:
            values_of = {field.name: getattr(batch, field.name) for field in fields(batch)}
            tensors = {name: value for name, value in values_of.items() if isinstance(value, Tensor)}
            write_tensors(tensors, temporary)
        not_finite = [name for names in wrong for name in names]
        record = {
            "step": trainer.global_step,
            **{name: str(value) for name, value in values.items()},
            "not_finite": not_finite,
            "losses": {name: str(loss) for batch_losses in losses for name, loss in batch_losses.items()},
            "tensors_of": batch.ids,
        }
        write_json(file, record)
        return file, not_finite


def _in_examples(names: list[str]) -> str:
    more = " …" if len(names) > _NAMED else ""
    return f" in {', '.join(names[:_NAMED])}{more}" if names else ", although the losses of all examples are finite"


def _by_example(batch: Batch, losses: Tensor, rank: int = 0, world_size: int = 1) -> dict[str, float]:
    """The loss of each example; of masked tokens, the sum over the example.

    Args:
        losses: of a batch divided among devices, those of all ranks, one after another.
    """
    if isinstance(batch, DividedBatch):
        of_devices = losses.cpu().chunk(world_size)[rank].chunk(len(batch.shares))
        pairs = zip(batch.shares, of_devices, strict=True)
        return {name: loss for pair in pairs for name, loss in _by_example(*pair).items()}
    batch = batch.on_host()
    example = batch.document[batch.masked] if batch.num_masked else torch.arange(len(batch.ids))
    sums = torch.zeros(len(batch.ids)).index_add(0, example, losses[: len(example)].float().cpu())
    return dict(zip(batch.ids, sums.tolist(), strict=True))
