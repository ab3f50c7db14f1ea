"""Statements that a table entails or refutes (TabFact; spec 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from mate_cli.encoding.batch import Batch
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tasks.task import SeesAll, Verdict


@dataclass(frozen=True, slots=True)
class Entailment:
    """What a table says about a statement; label: 1 entailed, 0 refuted; probability: that of the label."""

    id: str
    label: int
    probability: float


@dataclass(frozen=True, slots=True)
class EntailmentTask(SeesAll):
    """The task of an entailment model (checklist 118), see ``mate_cli.tasks.task.Task``."""

    kind: str = "entailment"
    metric: str = "accuracy"
    title: str = "accuracy"

    def scorable(self, rows: Any) -> np.ndarray:
        return np.asarray(rows["label"]) >= 0

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Tensor:
        logits: Tensor = model(**batch.encoder_inputs, first=batch.first)
        return logits

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(logits, batch.label, reduction="none", ignore_index=-1)

    def predictions(self, logits: Tensor, batch: Batch) -> list[Entailment]:
        probability, label = logits[: len(batch.ids)].softmax(1).max(1)
        return [Entailment(*own) for own in zip(batch.ids, label.tolist(), probability.tolist(), strict=True)]

    def verdicts(self, predictions: Sequence[Entailment], batch: Batch) -> list[Verdict]:
        return [Verdict(p.id, 1.0, p.label == own) for p, own in zip(predictions, batch.label.tolist(), strict=True)]
