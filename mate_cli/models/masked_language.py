"""The head of masked language modelling, as in TAPAS, without next-sentence prediction (docs/notes.md, note 28).

Pre-training does not change the pooler. Shapes: T tokens, M masked tokens, H hidden, V pieces of the vocabulary.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mate_cli.attention import Plan
from mate_cli.models.configuration import ACTIVATIONS, MateConfig
from mate_cli.models.model import MateModel, MatePreTrainedModel


class MateForMaskedLM(MatePreTrainedModel):
    """Scores every piece at masked tokens; parameter names as in ``transformers.TapasForMaskedLM``.

    The output weights are the word embeddings, not another parameter.
    """

    kind: ClassVar[str] = "masked_language"
    unread: ClassVar[str | None] = "tapas.pooler."

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.cls = nn.ModuleDict({"predictions": PiecePredictions(config)})
        self.post_init()

    def forward(self, input_ids: Tensor, token_types: Tensor, positions: Tensor, masked: Tensor, plan: Plan) -> Tensor:
        """Compute the logits of a packed batch at masked tokens alone, which saves most of the memory.

        Args:
            input_ids, token_types, positions, plan: as in ``MateModel.encode``.
            masked: int64 ``[masked]``, the masked tokens.

        Returns:
            ``[masked, vocabulary]``, at least fp32, also under autocast.
        """
        states = self.tapas.encode(input_ids, token_types, positions, plan)
        logits: Tensor = self.cls["predictions"](states[masked], self.tapas.embeddings.word_embeddings.weight)
        return logits


class PiecePredictions(nn.Module):
    """A dense layer with activation and norm, then the product with the word embeddings, and a bias."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.transform = Transform(config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, states_MH: Tensor, words_VH: Tensor) -> Tensor:
        logits_MV = F.linear(self.transform(states_MH), words_VH)
        return logits_MV.to(torch.promote_types(logits_MV.dtype, self.bias.dtype)) + self.bias


class Transform(nn.Module):
    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, states_MH: Tensor) -> Tensor:
        return self.LayerNorm(self.activation(self.dense(states_MH)))
