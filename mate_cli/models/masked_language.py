"""The head of masked language modelling, as TAPAS has it (spec 5.2, checklist 20).

The release trains a second head, on next sentences, whose label is always 0: no table is ever swapped for a random
one (spec 5.1). It learns a constant, so there is none here; the pooler stays as it came, for the tasks that follow.
Shapes: T tokens, M masked ones, H hidden, V pieces of the vocabulary.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mate_cli.attention import Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.encoder import ACTIVATIONS
from mate_cli.models.model import MateModel, MatePreTrainedModel


class MateForMaskedLM(MatePreTrainedModel):
    """Scores every piece at masked tokens; parameter names as in ``transformers.TapasForMaskedLM``.

    The output weights are the word embeddings and no parameter of their own, so they are in no file twice.
    """

    kind: ClassVar[str] = "masked_language"

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.cls = nn.ModuleDict({"predictions": PiecePredictions(config)})
        self.post_init()

    def forward(self, input_ids: Tensor, token_types: Tensor, positions: Tensor, masked: Tensor, plan: Plan) -> Tensor:
        """Logits of a packed batch, at masked tokens alone: at all of them they would be the largest thing by far.

        Args:
            input_ids, positions: int64 ``[tokens]``; token_types: int64 ``[tokens, 7]``.
            masked: int64 ``[masked]``, which tokens.

        Returns:
            ``[masked, vocabulary]``, float32 at least, under autocast too.
        """
        states = self.tapas.encode(input_ids, token_types, positions, plan)
        logits: Tensor = self.cls["predictions"](states[masked], self.tapas.embeddings.word_embeddings.weight)
        return logits


class PiecePredictions(nn.Module):
    """A dense layer with the encoder's activation and a norm, then the product with the word embeddings, and a bias."""

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
