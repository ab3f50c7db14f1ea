"""TableETC's self-attention and global tokens: BERT's parameters and those of relative positions and memory."""

from __future__ import annotations

from torch import Tensor, nn

from mate_cli.attention.table_etc import LABELS, TableEtcPlan, attend_table_etc
from mate_cli.models.configuration import MateConfig
from mate_cli.models.pattern_attention import SelfAttention


class TableEtcAttention(SelfAttention):
    """Relative positions add a vector to the key: one per label and head (checklist 50)."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config, (config.num_attention_heads,))
        self.relative_keys = nn.Embedding(LABELS, config.hidden_size)

    def forward(self, states_TH: Tensor, plan: TableEtcPlan) -> Tensor:
        """``[tokens + global tokens, hidden]`` to the same."""
        return attend_table_etc(self.qkv(states_TH), self.relative_keys.weight, plan, self.heads, self.dropout)


class GlobalStates(nn.Module):
    """Initial states of the global tokens: learned, the same in every document."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.states = nn.Embedding(config.table_etc_global_size, config.hidden_size)

    def forward(self, plan: TableEtcPlan) -> Tensor:
        """``[global tokens, hidden]``, in the order of the plan."""
        return self.states(plan.slots)
