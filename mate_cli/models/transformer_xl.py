"""Transformer-XL's attention (Dai et al. 2019; checklist 54): relative positions over all pairs.

For ``mate bench`` only. Its recurrence carries states from one segment of a text to the next. An encoder reads a
document at once, so the document is one segment, with nothing before it, and attention is quadratic as in table 1;
segments of fixed length with a cache would make it linear, and blind beyond two segments.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mate_cli.attention.relative import RelativePlan, attend_relative, sinusoids
from mate_cli.models.configuration import MateConfig


class TransformerXLAttention(nn.Module):
    """``u`` and ``v`` are each layer's own and start at zero; ``position`` turns sinusoids into keys."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.position = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.heads = config.num_attention_heads
        head_dim = config.hidden_size // config.num_attention_heads
        self.u = nn.Parameter(torch.zeros(self.heads, head_dim))
        self.v = nn.Parameter(torch.zeros(self.heads, head_dim))
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, states_TH: Tensor, plan: RelativePlan) -> Tensor:
        """``[tokens, hidden]`` to the same."""
        waves = sinusoids(plan.longest, states_TH)
        layers, inputs = (self.query, self.key, self.value, self.position), (states_TH, states_TH, states_TH, waves)
        query, key, value, positions = (
            layer(x).unflatten(1, (self.heads, -1)) for layer, x in zip(layers, inputs, strict=True)
        )
        dropout = self.dropout if self.training else 0.0
        return attend_relative(query, key, value, positions, (self.u, self.v), plan, dropout).flatten(1)
