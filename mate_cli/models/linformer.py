"""Linformer's self-attention: BERT's parameters and one projection of the sequence (checklist 49, spec 2.5)."""

from __future__ import annotations

from torch import Tensor, nn

from mate_cli.attention.linformer import LinformerPlan, attend_linformer
from mate_cli.models.configuration import MateConfig
from mate_cli.models.pattern_attention import SelfAttention


class LinformerAttention(SelfAttention):
    """One matrix ``[S, K]`` per layer, shared by keys, values and all heads; no bias."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config, (config.num_attention_heads,))
        # A table by place in the document: an embedding in shape and in how it is initialised.
        self.seq_projection = nn.Embedding(config.linformer_tokens, config.linformer_k)

    def forward(self, states_TH: Tensor, plan: LinformerPlan) -> Tensor:
        return attend_linformer(self.qkv(states_TH), self.seq_projection.weight, plan, self.heads, self.dropout)
