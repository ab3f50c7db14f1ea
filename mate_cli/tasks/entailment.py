"""Statements that a table entails or refutes (TabFact; docs/notes.md, note 28)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mate_cli.encoding.batch import Batch
from mate_cli.encoding.row_fields import row_field
from mate_cli.models.configuration import MateConfig
from mate_cli.models.entailment import StatementLogits
from mate_cli.models.model import MatePreTrainedModel, mean_by_group
from mate_cli.tasks.task import Task, Verdict

_MANY = 1 << 24
"""More than the pieces of any vocabulary."""


@dataclass(frozen=True, slots=True)
class Entailment:
    """The verdict on a statement; label: 1 entailed, 0 refuted; probability: of the label."""

    id: str
    label: int
    probability: float


@dataclass(frozen=True, slots=True)
class EntailmentTask(Task):
    """The objective of an entailment model (docs/notes.md, note 31).

    Attributes:
        mentions: weight of a second loss, which predicts the tokens of the statement that occur in the table. Labels
            alone teach an encoder without table pre-training little about words in a short training.
    """

    metric: str = "accuracy"
    title: str = "accuracy"
    mentions: float = 0.0

    def prepare_model(self, config: MateConfig) -> None:
        config.mentions = self.mentions > 0

    def scorable(self, rows: Any) -> np.ndarray:
        return row_field(rows, "label") >= 0

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> StatementLogits:
        logits: StatementLogits = model(**batch.encoder_inputs, first=batch.first, text=batch.text)
        return logits

    def losses(self, logits: StatementLogits, batch: Batch) -> Tensor:
        losses = F.cross_entropy(logits.labels, batch.label, reduction="none", ignore_index=-1)
        if not self.mentions:
            return losses
        return losses + self.mentions * (batch.label >= 0) * mention_losses(logits.mentions, batch)

    def predictions(self, logits: StatementLogits, batch: Batch) -> list[Entailment]:
        probability, label = logits.labels[: len(batch.ids)].softmax(1).max(1)
        return [Entailment(*parts) for parts in zip(batch.ids, label.tolist(), probability.tolist(), strict=True)]

    def verdicts(self, predictions: Sequence[Entailment], batch: Batch) -> list[Verdict]:
        labels = batch.label.tolist()
        return [Verdict(p.id, 1.0, p.label == label) for p, label in zip(predictions, labels, strict=True)]


def mention_losses(mentions: Tensor, batch: Batch) -> Tensor:
    """Mean cross-entropy ``[documents]`` of predicting which tokens of a statement occur in its table.

    Args:
        mentions: logits, float ``[tokens]``.
    """
    in_text = (batch.text >= 0).to(mentions.dtype)
    piece = batch.document * _MANY + batch.input_ids  # distinct in each document
    in_table = has_one_among(piece, batch.text < 0).to(mentions.dtype)
    losses = F.binary_cross_entropy_with_logits(mentions, in_table, in_text, reduction="none")
    return mean_by_group(losses, batch.text, len(batch.label))


def has_one_among(pieces: Tensor, chosen: Tensor) -> Tensor:
    """Mark tokens whose piece is among the chosen ones, bool ``[tokens]``; ``torch.isin`` falls back to the CPU on XLA.

    Args:
        pieces: int64 ``[tokens]``; chosen: bool ``[tokens]``.
    """
    order = (2 * pieces + ~chosen).argsort()  # chosen tokens first among equal pieces
    ordered = pieces[order]
    place = torch.arange(len(order), device=order.device)
    first = torch.where(ordered != ordered.roll(1), place, 0).cummax(0).values
    return torch.zeros_like(chosen).scatter(0, order, chosen[order][first])
