"""The entailment head of TAPAS: a linear layer on the pooled state (docs/notes.md, note 28)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from mate_cli.attention import Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MateModel, MatePreTrainedModel


class StatementLogits(NamedTuple):
    """
    Attributes:
        labels: ``[documents, 2]``; 1: entailed, 0: refuted.
        mentions: ``[tokens]``, logit that the table has the token too; ``[0]`` without that head.
    """

    labels: Tensor
    mentions: Tensor


class MateForSequenceClassification(MatePreTrainedModel):
    """Scores the two labels of a document; parameter names as in ``transformers.TapasForSequenceClassification``.

    ``config.mentions`` adds the head ``mention``, which serves training alone.
    """

    kind: ClassVar[str] = "entailment"

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.classifier = nn.Linear(config.hidden_size, 2)
        self.mention = nn.Linear(config.hidden_size, 1) if config.mentions else None
        self.post_init()

    def forward(
        self, input_ids: Tensor, token_types: Tensor, positions: Tensor, first: Tensor, text: Tensor, plan: Plan
    ) -> StatementLogits:
        """Compute the logits of a packed batch, at least fp32, also under autocast.

        Args:
            input_ids, token_types, positions, plan: as in ``MateModel.encode``.
            first, text: int64 ``[documents]`` and ``[tokens]``, see ``MateModel.pool``.
        """
        states = self.tapas.encode(input_ids, token_types, positions, plan)
        # Few numbers: bf16 would lose digits and save no time.
        with torch.autocast(states.device.type, enabled=False):
            states = states.to(torch.promote_types(states.dtype, self.classifier.weight.dtype))
            labels = self.classifier(self.tapas.pool(states, first, text))
            return StatementLogits(labels, states[:0, 0] if self.mention is None else self.mention(states).squeeze(1))
