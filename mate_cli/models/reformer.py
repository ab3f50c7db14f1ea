"""Reformer's attention (Kitaev et al. 2020; checklist 53): shared queries and keys in buckets of similar tokens.

For ``mate bench`` only. Reformer was defined for text from left to right; here, as the paper suggests, a token sees
both sides. Its reversible layers and chunked feed-forward are not attention and are left out.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mate_cli.attention.lsh import BASE, MAX_DIGITS, LshPlan, attend_lsh
from mate_cli.models.configuration import MateConfig

ROUNDS = 4


class ReformerAttention(nn.Module):
    """``query`` makes queries and keys; each layer has rotations of its own, drawn once and kept with the weights."""

    rotations: Tensor

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.heads = config.num_attention_heads
        head_dim = config.hidden_size // config.num_attention_heads
        self.register_buffer("rotations", torch.randn(ROUNDS, self.heads, head_dim, MAX_DIGITS, BASE // 2))
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, states_TH: Tensor, plan: LshPlan) -> Tensor:
        """``[tokens, hidden]`` to the same."""
        query, value = (layer(states_TH).unflatten(1, (self.heads, -1)) for layer in (self.query, self.value))
        dropout = self.dropout if self.training else 0.0
        return attend_lsh(query, value, self.rotations, plan, dropout).flatten(1)
