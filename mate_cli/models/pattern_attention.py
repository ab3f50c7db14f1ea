"""Self-attention by a pattern of head groups; no parameters but BERT's (checklist 13)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mate_cli.attention import Pattern, Plan, attend
from mate_cli.attention.eager import EagerPlan, eager_probabilities
from mate_cli.models.configuration import MateConfig


class SelfAttention(nn.Module):
    """BERT's query, key and value of all heads in one product, laid out head group by head group.

    Args:
        groups: how many heads each group has.
    """

    def __init__(self, config: MateConfig, groups: Sequence[int]) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.heads = config.num_attention_heads
        self.widths = [heads * config.hidden_size // self.heads for heads in groups]
        self._dropout = config.attention_probs_dropout_prob

    @property
    def dropout(self) -> float:
        """Share of attention probabilities to drop now."""
        return self._dropout if self.training else 0.0

    def qkv(self, states_TH: Tensor) -> Tensor:
        """``[tokens, 3 * hidden]``: query | key | value of each group."""
        return F.linear(states_TH, self._grouped("weight"), self._grouped("bias"))

    def _grouped(self, name: str) -> Tensor:
        """query | key | value rows of each head group, so that a group is one slice of the product."""
        parts = [getattr(layer, name) for layer in (self.query, self.key, self.value)]
        split = [part.split(self.widths) for part in parts]
        return torch.cat([part for group in zip(*split, strict=True) for part in group])


class PatternAttention(SelfAttention):
    """Row heads, column heads, full heads: whatever the configuration's pattern says."""

    def __init__(self, config: MateConfig) -> None:
        pattern: Pattern = config.pattern()
        super().__init__(config, [group.heads for group in pattern.groups])
        self.pattern = pattern

    def forward(self, states_TH: Tensor, plan: Plan) -> Tensor:
        return attend(self.qkv(states_TH), plan, self.pattern, self.dropout)

    def probabilities(self, states_TH: Tensor, plan: EagerPlan) -> list[Tensor]:
        """What each head attends to: of each document ``[heads, n, n]``, queries before keys; no dropout."""
        return eager_probabilities(self.qkv(states_TH), plan, self.pattern)
