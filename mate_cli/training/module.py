"""The Lightning module of every task: model, loss, optimizer, validation score."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from mate_cli.models.embeddings import Embeddings
from mate_cli.models.encoder import Encoder
from mate_cli.tasks.task import Task, Verdict
from mate_cli.training.divided import DividedBatch
from mate_cli.training.optimizer import BertAdamW, parameter_groups, rate_factor
from mate_cli.training.spmd import joined_losses, predict_shares
from mate_cli.training.xla import gather_objects, seed_xla

if TYPE_CHECKING:
    from mate_cli.config.task import ScheduleConfig
    from mate_cli.encoding.batch import Batch
    from mate_cli.models.model import MatePreTrainedModel


class TaskModule(pl.LightningModule):
    """Train a model on a task and validate it.

    Args:
        schedule: settings of the optimizer (paper appendix A.2); None to validate only.
        steps: optimizer steps of the whole run.
        new_parameters: names of parameters without pre-trained values; they learn at ``schedule.head_lr``.
        seed: makes dropout a function of (seed, step, rank).
    """

    def __init__(
        self,
        model: MatePreTrainedModel,
        task: Task,
        schedule: ScheduleConfig | None = None,
        steps: int = 0,
        new_parameters: frozenset[str] = frozenset(),
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model, self.task = model, task
        self.schedule, self.steps = schedule, steps
        self.new_parameters, self.seed = new_parameters, seed
        self.validation_score = 0.0
        self.clamped_ids = 0
        self._clamped = 0  # on this rank, not yet in ``clamped_ids``
        self.step_loss: Tensor | float = 0.0
        self.step_lr = 0.0
        self.gradient_norm: Tensor | float = 0.0  # of the step, before clipping
        self.pass_losses: list[Tensor] = []  # of each pass of the step, as from ``Task.losses``
        self._passes_loss: Tensor | float = 0.0  # sum over the passes of the current step
        self._stream_losses = 0
        self._verdicts: list[list[Verdict]] = []  # of each batch

    def forward(self, batch: Batch) -> Any:
        """The scores of ``Task.logits``, at least float32."""
        return self.task.logits(self.model, batch)

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Count clamped ids here, on the host: on a device the count would block."""
        embeddings = self.model.get_submodule("tapas.embeddings")
        assert isinstance(embeddings, Embeddings)
        self._clamped += int(embeddings.clamped(batch.token_types))
        return batch

    def configure_model(self) -> None:
        """Shard the model over the devices if the strategy has a mesh of them."""
        if self.device_mesh is not None:
            from mate_cli.training.sharding import shard

            shard(self.model, self.encoder.layer, self.device_mesh["data_parallel"])

    @property
    def encoder(self) -> Encoder:
        encoder = self.model.get_submodule("tapas.encoder")
        assert isinstance(encoder, Encoder)
        return encoder

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        seed = hash((self.seed, batch_idx, self.global_rank))
        torch.manual_seed(seed)
        if self.device.type == "xla":
            seed_xla(seed)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The share of this micro-batch in the mean loss over the examples of the optimizer step.

        For a stream, the sum of its losses: the number of losses is known only at the end of the step, where
        ``on_before_optimizer_step`` divides the gradients.
        """
        if isinstance(batch, DividedBatch):
            averaged = 1
            losses = joined_losses(self._losses_of(batch.share()))
        else:
            averaged = self.trainer.world_size  # ranks, of whose gradients the strategy takes the mean
            losses = self._losses_of(batch)
        if batch_idx % self.trainer.accumulate_grad_batches == 0:
            self.pass_losses.clear()
        self.pass_losses.append(losses.detach())
        losses_per_step = self.trainer.datamodule.losses_per_step  # type: ignore[attr-defined]
        if losses_per_step is None:
            self._stream_losses += batch.num_masked
        # A tensor, because XLA compiles Python numbers into the program.
        share = torch.tensor(averaged / (losses_per_step or 1))
        loss = losses.sum() * share.to(losses)
        self._record_loss(loss.detach(), batch_idx)
        # Undo Lightning's division by the number of passes.
        return loss * self.trainer.accumulate_grad_batches

    def _losses_of(self, batch: Batch) -> Tensor:
        return self.task.losses(self(batch), batch)

    def _record_loss(self, share: Tensor, batch_idx: int) -> None:
        self._passes_loss = self._passes_loss + share
        if (batch_idx + 1) % self.trainer.accumulate_grad_batches == 0:
            # The mean over the ranks is the loss of the step. In a stream this is the mean of the ranks' means.
            self.step_loss = self._passes_loss / max(self._stream_losses * self.trainer.world_size, 1)
            self.step_lr = self.trainer.optimizers[0].param_groups[0]["lr"]
            self._passes_loss = 0.0

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        if self.trainer.loggers and logs_step(self.trainer):
            self._log("loss", self.step_loss, sync_dist=True)
            self._log("lr", self.step_lr)
            self._log("gradient_norm", self.gradient_norm)

    def _log(self, name: str, value: Tensor | float, sync_dist: bool = False) -> None:
        self.log(name, torch.as_tensor(value, device=self._device_of_numbers), sync_dist=sync_dist)

    @property
    def _device_of_numbers(self) -> torch.device:
        """The device of logged numbers: on XLA they would become part of the compiled steps."""
        return torch.device("cpu") if self.device.type == "xla" else self.device

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Divide a stream's gradients by the number of losses of the step, over all ranks."""
        if self._stream_losses:
            losses = torch.tensor(float(self._stream_losses), device=self.device)
            total = self.trainer.strategy.reduce(losses, reduce_op="sum")
            for parameter in self.parameters():
                if parameter.grad is not None:
                    parameter.grad /= total
            self._stream_losses = 0

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Compute the norm of the gradients and clip them; Lightning's own clipping refuses fused optimizers.

        The norm stays on the device until a step is logged.
        """
        norm = torch.nn.utils.get_total_norm([p.grad for p in self.parameters() if p.grad is not None])
        if gradient_clip_val is not None:
            torch.nn.utils.clip_grads_with_norm_(self.parameters(), gradient_clip_val, norm)
        self.gradient_norm = norm.full_tensor() if isinstance(norm, DTensor) else norm

    def on_train_end(self) -> None:
        self._sum_clamped()

    def on_validation_epoch_start(self) -> None:
        self._verdicts.clear()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        if isinstance(batch, DividedBatch):
            shares = predict_shares(self.task, self.model, batch)
            self._verdicts.append([verdict for share in shares for verdict in self.task.verdicts(*share)])
        else:
            self._verdicts.append(self.task.verdicts(self.task.predict(self.model, batch), batch.on_host()))

    def on_validation_epoch_end(self) -> None:
        best = most_confident(self._verdicts_of_all_ranks())
        self.validation_score = sum(verdict.right for verdict in best) / max(1, len(best))
        self._log(f"dev_{self.task.metric}", self.validation_score, sync_dist=True)
        self._verdicts.clear()
        self._sum_clamped()

    def _sum_clamped(self) -> None:
        clamped = torch.tensor(self._clamped, device=self._device_of_numbers)
        self.clamped_ids += int(self.trainer.strategy.reduce(clamped, reduce_op="sum"))
        self._clamped = 0

    def _verdicts_of_all_ranks(self) -> list[list[Verdict]]:
        """The verdicts on each batch, in the order of a single rank (``sampler.rank_share``)."""
        if self.trainer.world_size == 1:
            return self._verdicts
        by_rank: list[Any] = [None] * self.trainer.world_size
        if torch.distributed.is_initialized():  # also between hosts whose devices run one program
            torch.distributed.all_gather_object(by_rank, self._verdicts)
        else:
            by_rank = gather_objects(self._verdicts)
        return [batch for place in zip(*by_rank, strict=True) for batch in place]

    def configure_optimizers(self) -> Any:
        s = self.schedule
        assert s is not None, "a module without a schedule does not train"
        groups = parameter_groups(self.model, s.lr, s.weight_decay, self.new_parameters, s.head_lr)
        optimizer = BertAdamW(groups, s.lr, s.bias_correction)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_factor(self.steps, s.warmup, s.decay))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def ends_step(trainer: pl.Trainer) -> bool:
    """True if the last micro-batch completed an optimizer step."""
    done: int = trainer.fit_loop.epoch_loop.batch_progress.current.ready
    return done % trainer.accumulate_grad_batches == 0


def logs_step(trainer: pl.Trainer) -> bool:
    """True if the last micro-batch completed a logged step; others are not read, because reading blocks the device."""
    every: int = trainer.log_every_n_steps  # type: ignore[attr-defined]
    return ends_step(trainer) and trainer.global_step % every == 0


def most_confident(batches: Iterable[Iterable[Verdict]]) -> list[Verdict]:
    """The most confident verdict on each question; the first of equals."""
    best: dict[str, Verdict] = {}
    for verdict in (verdict for batch in batches for verdict in batch):
        rival = best.get(verdict.question)
        if rival is None or verdict.confidence > rival.confidence:
            best[verdict.question] = verdict
    return list(best.values())


def quieten_lightning() -> None:
    """Hide Lightning's messages about itself; keep its errors."""
    for name in ("pytorch_lightning", "pytorch_lightning.utilities.rank_zero", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    for message in (
        "dataloader is not resumable",  # the sampler starts at the step of the checkpoint
        "does not have many workers",  # the profile chooses them
        "You have overridden `on_before_batch_transfer`",
        "LeafSpec",
        "Experiment logs directory",
        "Checkpoint directory",
        "FSDP2-wrapped module.*returned a view",  # of logits, into which nothing writes
    ):
        warnings.filterwarnings("ignore", message=f".*{message}.*")
