"""Masked language modelling: which pieces of a table and of its text were there (spec 5, checklist 20, 21)."""

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
from mate_cli.tasks.task import SeesAll, Verdict


@dataclass(frozen=True, slots=True)
class PiecePrediction:
    """What was there at each masked token of an example, what is the likeliest, and how likely is what was there.

    Attributes:
        target, best: ids of pieces; log_likelihood: natural logarithm of the target's probability.
        in_table: whether the token is one of the table, not of the text.
    """

    id: str
    target: tuple[int, ...]
    best: tuple[int, ...]
    log_likelihood: tuple[float, ...]
    in_table: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class MaskedLanguage(SeesAll):
    """The task of pre-training, see ``mate_cli.tasks.task.Task``. Its losses are of masked tokens, ``[masked]``."""

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
        of_each = (batch.target, logits.argmax(1), -self.losses(logits, batch), in_table)
        split = (own.cpu().split(counts) for own in of_each)
        examples = zip(batch.ids, *split, strict=True)
        return [PiecePrediction(name, *(tuple(own.tolist()) for own in parts)) for name, *parts in examples]

    def verdicts(self, predictions: Sequence[PiecePrediction], batch: Batch) -> list[Verdict]:
        """One for each masked token: each counts alike."""
        return [
            Verdict(f"{own.id}#{number}", 1.0, target == best)
            for own in predictions
            for number, (target, best) in enumerate(zip(own.target, own.best, strict=True))
        ]
