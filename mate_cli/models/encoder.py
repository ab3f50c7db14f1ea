"""The encoder: BERT's post-norm layers over packed tokens, with any attention pattern.

Parameter names and shapes are those of Hugging Face TAPAS. Shapes: T tokens, H hidden, F feed-forward.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mate_cli.attention import Pattern, Plan, attend
from mate_cli.models.configuration import MateConfig

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
}


class SelfAttention(nn.Module):
    """Query, key and value of all heads in one product, laid out head group by head group."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.pattern: Pattern = config.pattern()
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, states_TH: Tensor, plan: Plan) -> Tensor:
        qkv = F.linear(states_TH, self._grouped("weight"), self._grouped("bias"))
        return attend(qkv, plan, self.pattern, self.dropout if self.training else 0.0)

    def _grouped(self, name: str) -> Tensor:
        """query | key | value rows of each head group, so that a group is one slice of the product."""
        parts = [getattr(layer, name) for layer in (self.query, self.key, self.value)]
        sizes = [group.heads * self.head_dim for group in self.pattern.groups]
        split = [part.split(sizes) for part in parts]
        return torch.cat([part for group in zip(*split, strict=True) for part in group])


class DenseNorm(nn.Module):
    """A linear layer, dropout, and the norm of its sum with the residual."""

    def __init__(self, width: int, config: MateConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, residual_TH: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(states)) + residual_TH)


class Attention(nn.Module):
    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = DenseNorm(config.hidden_size, config)

    def forward(self, states_TH: Tensor, plan: Plan) -> Tensor:
        return self.output(self.self(states_TH, plan), states_TH)


class Intermediate(nn.Module):
    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, states_TH: Tensor) -> Tensor:
        return self.activation(self.dense(states_TH))


class Layer(nn.Module):
    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = DenseNorm(config.intermediate_size, config)

    def forward(self, states_TH: Tensor, plan: Plan) -> Tensor:
        states_TH = self.attention(states_TH, plan)
        return self.output(self.intermediate(states_TH), states_TH)


class Encoder(nn.Module):
    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))

    def forward(self, states_TH: Tensor, plan: Plan) -> Tensor:
        """``[tokens, hidden]`` to the same; under autocast in its dtype, as every sublayer normalises anew.

        bfloat16 states save 3% of a training step on the CPU and half their memory; the logits of MiniLM then
        differ from float32's by 0.6%, with float32 states by 0.4%.
        """
        device = states_TH.device.type
        if torch.is_autocast_enabled(device):
            states_TH = states_TH.to(torch.get_autocast_dtype(device))
        for layer in self.layer:
            states_TH = layer(states_TH, plan)
        return states_TH


class Pooler(nn.Module):
    """tanh of a linear layer on each document's first token."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, first_DH: Tensor) -> Tensor:
        return torch.tanh(self.dense(first_DH))
