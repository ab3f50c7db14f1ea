"""The Lightning module of cell selection: a model, its loss, its optimizer, its validation score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from mate_cli.tasks.cell_selection import CellPrediction, Objective, cell_loss, rank_cells
from mate_cli.training.optimizer import BertAdamW, linear_schedule, parameter_groups

if TYPE_CHECKING:
    from mate_cli.encoding.batch import Batch
    from mate_cli.models.cell_selection import MateForCellSelection


@dataclass(frozen=True)
class Optimization:
    """The numbers of a training run that reach the optimizer (checklist 36)."""

    steps: int
    lr: float
    head_lr: float | None
    warmup: float
    weight_decay: float
    bias_correction: bool = False


class CellSelectionModule(pl.LightningModule):
    """Trains a cell selector (checklist 28-38).

    Args:
        new_parameters: names of parameters that no checkpoint filled; they learn at ``optimization.head_lr``.
        seed: makes dropout a function of (seed, step, rank).
    """

    def __init__(
        self,
        model: MateForCellSelection,
        objective: Objective = "mml",
        optimization: Optimization | None = None,
        new_parameters: frozenset[str] = frozenset(),
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model = model
        self.objective: Objective = objective
        self.optimization = optimization
        self.new_parameters = new_parameters
        self.seed = seed
        self.validation_score = 0.0
        self.clamped_ids = 0
        self.predictions: list[CellPrediction] = []
        self._step_loss = 0.0
        self._hits: list[bool] = []

    def forward(self, batch: Batch) -> Tensor:
        """Cell logits, float32 ``[cells]``."""
        self.clamped_ids += int(self.model.tapas.embeddings.clamped(batch.token_types))
        return self.model(
            input_ids=batch.input_ids,
            token_types=batch.token_types,
            positions=batch.positions,
            cell=batch.cell,
            cells=len(batch.cell_document),
            plan=batch.plan,
        )

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        torch.manual_seed(hash((self.seed, batch_idx, self.global_rank)))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The part that this micro-batch has in the mean loss of the optimizer step's scorable examples."""
        losses, _ = cell_loss(self(batch), batch.cell_document, batch.is_candidate, len(batch.ids), self.objective)
        scorable = self.trainer.datamodule.scorable_in_step(self.trainer.global_step)  # type: ignore[attr-defined]
        loss = losses.sum() * self.trainer.world_size / max(scorable, 1)
        self._record_loss(float(loss.detach()), batch_idx)
        # Lightning divides by the number of passes; the loss above is a share of the sum already.
        return loss * self.trainer.accumulate_grad_batches

    def _record_loss(self, share: float, batch_idx: int) -> None:
        self._step_loss += share
        if (batch_idx + 1) % self.trainer.accumulate_grad_batches == 0:
            self.log("loss", self._step_loss)
            self.log("lr", self.trainer.optimizers[0].param_groups[0]["lr"])
            self._step_loss = 0.0

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
        self._hits.clear()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        candidates = candidates_of(batch)
        self._hits += [p.cells[:1] != () and p.cells[0] in candidates[p.id] for p in self.rank(batch)]

    def on_validation_epoch_end(self) -> None:
        self.validation_score = sum(self._hits) / max(1, len(self._hits))
        self.log("dev_hits@1", self.validation_score)

    def predict_step(self, batch: Batch, batch_idx: int) -> None:
        self.predictions += self.rank(batch)

    def rank(self, batch: Batch) -> list[CellPrediction]:
        """The ranked cells of each example of a batch."""
        return rank_cells(batch.ids, self(batch), batch.cell_document, batch.cell_row, batch.cell_column)

    def configure_optimizers(self) -> Any:
        o = self.optimization
        assert o is not None, "a module without Optimization only predicts"
        groups = parameter_groups(self.model, o.lr, o.weight_decay, self.new_parameters, o.head_lr)
        optimizer = BertAdamW(groups, o.lr, o.bias_correction)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, linear_schedule(o.steps, o.warmup))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def candidates_of(batch: Batch) -> dict[str, set[tuple[int, int]]]:
    """The candidate cells (row, column) of each example of a batch, by its id."""
    candidates: dict[str, set[tuple[int, int]]] = {example_id: set() for example_id in batch.ids}
    for cell in batch.is_candidate.nonzero().squeeze(1).tolist():
        place = (int(batch.cell_row[cell]), int(batch.cell_column[cell]))
        candidates[batch.ids[int(batch.cell_document[cell])]].add(place)
    return candidates
