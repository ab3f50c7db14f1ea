"""Masked language modelling of tables and their texts (paper appendix A.1; docs/notes.md, note 20)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mate_cli.encoding.batch import Batch
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tasks.task import Task, Verdict


@dataclass(frozen=True, slots=True)
class PiecePrediction:
    """The predictions for the masked tokens of an example.

    Attributes:
        target, best: ids of the original and of the likeliest piece.
        log_likelihood: natural logarithm of the target's probability.
        in_table: the token belongs to the table, not to the text.
    """

    id: str
    target: tuple[int, ...]
    best: tuple[int, ...]
    log_likelihood: tuple[float, ...]
    in_table: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class MaskedLanguage(Task):
    """The objective of pre-training; its losses are of masked tokens, ``[masked]``."""

    metric: str = "masked_accuracy"
    title: str = "masked-token accuracy"

    def scorable(self, rows: Any) -> np.ndarray:
        return np.ones(len(rows), dtype=bool)

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Tensor:
        logits: Tensor = model(**batch.encoder_inputs, masked=batch.masked)
        return logits

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(logits, batch.target, reduction="none", ignore_index=-1)

    def predictions(self, logits: Tensor, batch: Batch) -> list[PiecePrediction]:
        logits = logits[: batch.num_masked]
        counts = torch.bincount(batch.document[batch.masked], minlength=len(batch.ids)).tolist()
        in_table = batch.token_types[batch.masked, 0] == 1
        by_token = (batch.target, logits.argmax(1), -self.losses(logits, batch), in_table)
        by_example = zip(batch.ids, *(values.cpu().split(counts) for values in by_token), strict=True)
        return [PiecePrediction(name, *(tuple(part.tolist()) for part in parts)) for name, *parts in by_example]

    def verdicts(self, predictions: Sequence[PiecePrediction], batch: Batch) -> list[Verdict]:
        """One verdict for each masked token."""
        return [
            Verdict(f"{example.id}#{number}", 1.0, target == best)
            for example in predictions
            for number, (target, best) in enumerate(zip(example.target, example.best, strict=True))
        ]
