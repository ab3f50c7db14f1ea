"""The encoder: BERT's post-norm layers on packed tokens, with any self-attention.

Parameter names and shapes are those of Hugging Face TAPAS. Shapes: T tokens, H hidden, F feed-forward.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mate_cli.attention import Plan
from mate_cli.attention.dropout import Dropout, draw_dropout
from mate_cli.attention.recompute import recomputed
from mate_cli.models.configuration import ACTIVATIONS, MateConfig
from mate_cli.models.dropout import FeatureDropout
from mate_cli.models.variants import VARIANTS


class DenseNorm(nn.Module):
    """A linear layer, dropout, and the norm of its sum with the residual."""

    def __init__(self, width: int, config: MateConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = FeatureDropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, residual_TH: Tensor, place_T: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(states), place_T) + residual_TH)


class Attention(nn.Module):
    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.self = VARIANTS[config.heads].attention(config)
        self.output = DenseNorm(config.hidden_size, config)

    def forward(self, states_TH: Tensor, plan: Plan, place_T: Tensor, *dropout: Dropout) -> Tensor:
        return self.output(self.self(states_TH, plan, *dropout), states_TH, place_T)


class Intermediate(nn.Module):
    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, states_TH: Tensor) -> Tensor:
        return self.activation(self.dense(states_TH))


class Layer(nn.Module):
    """Self-attention and feed-forward; ``dropout`` is for ``PatternAttention``, other variants draw their own."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = DenseNorm(config.intermediate_size, config)

    def forward(self, states_TH: Tensor, plan: Plan, place_T: Tensor, *dropout: Dropout) -> Tensor:
        states_TH = self.attention(states_TH, plan, place_T, *dropout)
        return self.output(self.intermediate(states_TH), states_TH, place_T)


class Encoder(nn.Module):
    """
    Attributes:
        recompute: keep only the states between layers for the backward pass and compute each layer again there, with
            the same dropout: less memory for a third more work.
    """

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        memory = VARIANTS[config.heads].memory
        self.memory = memory(config) if memory is not None else None
        self.recompute = False
        drops_pairs = VARIANTS[config.heads].planner is None
        self._dropout = config.attention_probs_dropout_prob if drops_pairs else 0.0
        self._heads = config.num_attention_heads

    def forward(self, states_TH: Tensor, plan: Plan) -> Tensor:
        """Map ``[tokens, hidden]`` to the same; under autocast in its dtype, because every sublayer normalises again.

        bf16 states save 3% of a training step on the CPU and half of their memory. MiniLM's logits then differ from
        those in fp32 by 0.6%, with fp32 states by 0.4%.
        """
        tokens, device = len(states_TH), states_TH.device.type
        if torch.is_autocast_enabled(device):
            states_TH = states_TH.to(torch.get_autocast_dtype(device))
        if self.memory is not None:
            states_TH = torch.cat([states_TH, self.memory(plan).to(states_TH.dtype)])
        place_T = _with_memory(plan.place, len(states_TH) - tokens)
        for layer, dropout in zip(self.layer, self._attention_dropout(plan.place), strict=True):
            if self.recompute:
                states_TH = recomputed(layer, states_TH, plan, place_T, *dropout, draws=True)
            else:
                states_TH = layer(states_TH, plan, place_T, *dropout)
        return states_TH[:tokens]

    def _attention_dropout(self, place_T: Tensor) -> list[tuple[Dropout, ...]]:
        """Draw the attention dropout of each layer; none in evaluation mode."""
        layers = len(self.layer)
        if not (self.training and self._dropout):
            return [()] * layers
        return [(drawn,) for drawn in draw_dropout(self._dropout, layers, self._heads, place_T)]


def _with_memory(place_T: Tensor, memory: int) -> Tensor:
    """Append places of memory tokens, which no document has."""
    return torch.cat([place_T, -2 - torch.arange(memory, dtype=place_T.dtype, device=place_T.device)])


class Pooler(nn.Module):
    """tanh of a linear layer on one state per document, see ``MateModel.pool``."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, states_DH: Tensor) -> Tensor:
        return torch.tanh(self.dense(states_DH))
