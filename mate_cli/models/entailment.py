"""The head that tells statements which a table entails from those it refutes, as TAPAS has it (spec 3.2, 3.5)."""

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
        labels: ``[documents, 2]``; label 1: entailed, 0: refuted.
        mentions: ``[tokens]``, whether the table has the token too; ``[0]`` where the model has no head for it.
    """

    labels: Tensor
    mentions: Tensor


class MateForSequenceClassification(MatePreTrainedModel):
    """Scores the two labels of a document; parameter names as in ``transformers.TapasForSequenceClassification``.

    A second head, ``mention``, is ours (``config.mentions``): it is there to be trained, and predicts nothing.
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
        """Logits of a packed batch, float32 at least, under autocast too.

        Args:
            input_ids, positions: int64 ``[tokens]``; token_types: int64 ``[tokens, 7]``.
            first, text: the first token of each document, the text of each token, see ``MateModel.pool``.
        """
        states = self.tapas.encode(input_ids, token_types, positions, plan)
        # Few numbers: bfloat16 would cost digits and save no time.
        with torch.autocast(states.device.type, enabled=False):
            states = states.to(torch.promote_types(states.dtype, self.classifier.weight.dtype))
            labels = self.classifier(self.tapas.pool(states, first, text))
            return StatementLogits(labels, states[:0, 0] if self.mention is None else self.mention(states).squeeze(1))
