"""The head that tells statements which a table entails from those it refutes, as TAPAS has it (spec 3.2, 3.5)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from mate_cli.attention import Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MateModel, MatePreTrainedModel


class MateForSequenceClassification(MatePreTrainedModel):
    """Scores the two labels of a document; parameter names as in ``transformers.TapasForSequenceClassification``."""

    kind: ClassVar[str] = "entailment"

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.classifier = nn.Linear(config.hidden_size, 2)
        self.post_init()

    def forward(self, input_ids: Tensor, token_types: Tensor, positions: Tensor, first: Tensor, plan: Plan) -> Tensor:
        """Logits of a packed batch.

        Args:
            input_ids, positions: int64 ``[tokens]``; token_types: int64 ``[tokens, 7]``.
            first: int64 ``[documents]``, the first token of each.

        Returns:
            ``[documents, 2]``, float32 at least, under autocast too; label 1: entailed, 0: refuted.
        """
        states = self.tapas.encode(input_ids, token_types, positions, plan)
        # Few numbers: bfloat16 would cost digits and save no time.
        with torch.autocast(states.device.type, enabled=False):
            states = states.to(torch.promote_types(states.dtype, self.classifier.weight.dtype))
            return self.classifier(self.tapas.pooler(states[first]))
