"""The Lightning module of every task: a model, its loss, its optimizer, its validation score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from lightning_fabric.utilities import move_data_to_device
from torch import Tensor

from mate_cli.models.embeddings import Embeddings
from mate_cli.tasks.task import Prediction, Task, Verdict
from mate_cli.training.optimizer import BertAdamW, linear_schedule, parameter_groups
from mate_cli.training.xla import seed_xla

if TYPE_CHECKING:
    from mate_cli.encoding.batch import Batch
    from mate_cli.models.model import MatePreTrainedModel


@dataclass(frozen=True)
class Optimization:
    """The numbers of a training run that reach the optimizer (checklist 36)."""

    steps: int
    lr: float
    head_lr: float | None
    warmup: float
    weight_decay: float
    bias_correction: bool = False


class TaskModule(pl.LightningModule):
    """Trains a model on a task, validates it and predicts with it.

    Args:
        new_parameters: names of parameters that no checkpoint filled; they learn at ``optimization.head_lr``.
        seed: makes dropout a function of (seed, step, rank).
    """

    def __init__(
        self,
        model: MatePreTrainedModel,
        task: Task,
        optimization: Optimization | None = None,
        new_parameters: frozenset[str] = frozenset(),
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model = model
        self.task = task
        self.optimization = optimization
        self.new_parameters = new_parameters
        self.seed = seed
        self.validation_score = 0.0
        self.clamped_ids = 0
        self.predictions: list[Prediction] = []
        self._step_loss: Tensor | float = 0.0
        self._stream_losses = 0
        self._verdicts: dict[str, Verdict] = {}

    def forward(self, batch: Batch) -> Any:
        """The scores of whatever competes in the batch, float32 at least, see ``Task.logits``."""
        return self.task.logits(self.model, batch)

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Count where counting makes no device wait."""
        embeddings = self.model.get_submodule("tapas.embeddings")
        assert isinstance(embeddings, Embeddings)
        self.clamped_ids += int(embeddings.clamped(batch.token_types))
        return batch

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        seed = hash((self.seed, batch_idx, self.global_rank))
        torch.manual_seed(seed)
        if self.device.type == "xla":
            seed_xla(seed)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The part that this micro-batch has in the mean loss of the optimizer step's scorable examples.

        Of a stream it is the sum of its losses: how many the step has is known at its end, where gradients are divided.
        """
        losses = self.task.losses(self(batch), batch)
        scorable = self.trainer.datamodule.scorable_in_step(self.trainer.global_step)  # type: ignore[attr-defined]
        if scorable is None:
            self._stream_losses += len(losses)
        # A tensor: XLA compiles some numbers into the program.
        share = torch.tensor(self.trainer.world_size / max(1 if scorable is None else scorable, 1))
        loss = losses.sum() * share.to(losses)
        self._record_loss(loss.detach(), batch_idx)
        # Lightning divides by the number of passes; the loss above is a share of the sum already.
        return loss * self.trainer.accumulate_grad_batches

    def _record_loss(self, share: Tensor, batch_idx: int) -> None:
        self._step_loss = self._step_loss + share
        if (batch_idx + 1) % self.trainer.accumulate_grad_batches == 0:
            self.log("loss", self._step_loss / max(self._stream_losses * self.trainer.world_size, 1))
            self.log("lr", self.trainer.optimizers[0].param_groups[0]["lr"])
            self._step_loss = 0.0

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Divide a stream's gradients by the number of losses of the step, over all ranks."""
        if self._stream_losses:
            own = torch.tensor(float(self._stream_losses), device=self.device)
            total = self.trainer.strategy.reduce(own, reduce_op="sum")
            for parameter in self.parameters():
                if parameter.grad is not None:
                    parameter.grad /= total
            self._stream_losses = 0

    def configure_gradient_clipping(
        self,
        optimizer: Any,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Scale the gradients down to a norm; Lightning's own refuses fused optimizers."""
        if gradient_clip_val is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def on_validation_epoch_start(self) -> None:
        self._verdicts.clear()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        for verdict in self.task.verdicts(self.predict(batch), batch.on_host()):
            rival = self._verdicts.get(verdict.question)
            if rival is None or verdict.confidence > rival.confidence:
                self._verdicts[verdict.question] = verdict

    def on_validation_epoch_end(self) -> None:
        verdicts = self._verdicts.values()
        self.validation_score = sum(verdict.right for verdict in verdicts) / max(1, len(verdicts))
        self.log(f"dev_{self.task.metric}", self.validation_score)

    def predict_step(self, batch: Batch, batch_idx: int) -> None:
        self.predictions += self.predict(batch)

    def predict(self, batch: Batch) -> Sequence[Prediction]:
        """What is predicted for each example of a batch."""
        logits = move_data_to_device(self(batch), torch.device("cpu"))
        return self.task.predictions(logits, batch.on_host())

    def configure_optimizers(self) -> Any:
        o = self.optimization
        assert o is not None, "a module without Optimization only predicts"
        groups = parameter_groups(self.model, o.lr, o.weight_decay, self.new_parameters, o.head_lr)
        optimizer = BertAdamW(groups, o.lr, o.bias_correction)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, linear_schedule(o.steps, o.warmup))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
