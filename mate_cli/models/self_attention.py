"""Self-attention layers: BERT's projections, and the parameters that variants add. Shapes: T tokens, H hidden.

``PatternAttention`` (MATE, TAPAS, SAT), Linformer and TableETC can be trained; ETC, BigBird, Reformer and
Transformer-XL are for ``mate bench`` only (paper table 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mate_cli.attention import Pattern, Plan, attend
from mate_cli.attention.dropout import Dropout
from mate_cli.attention.eager import EagerPlan, eager_probabilities
from mate_cli.attention.global_local import GlobalLocalPlan, attend_global_local
from mate_cli.attention.linformer import LinformerPlan, attend_linformer
from mate_cli.attention.lsh import BASE, MAX_DIGITS, LshPlan, attend_lsh
from mate_cli.attention.native.table_etc import NativeTableEtcPlan
from mate_cli.attention.relative import RelativePlan, attend_relative, sinusoids
from mate_cli.attention.table_etc import FARTHEST, LABELS, TableEtcPlan, attend_table_etc
from mate_cli.models.configuration import MateConfig

REFORMER_ROUNDS = 4

# The last two of ETC's labels; the others are offsets.
_LONG_TO_GLOBAL, _GLOBAL_TO_LONG = 2 * FARTHEST + 1, 2 * FARTHEST + 2


class SelfAttention(nn.Module):
    """BERT's query, key and value projections, computed as one product with a slice for each head group.

    Args:
        groups: number of heads of each group; one group of all heads by default.
    """

    def __init__(self, config: MateConfig, groups: Sequence[int] | None = None) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.heads = config.num_attention_heads
        self.widths = [heads * config.hidden_size // self.heads for heads in groups or (self.heads,)]
        self._dropout = config.attention_probs_dropout_prob

    @property
    def dropout(self) -> float:
        """Share of attention probabilities to drop: 0 in evaluation mode."""
        return self._dropout if self.training else 0.0

    def qkv(self, states_TH: Tensor) -> Tensor:
        """Project to ``[tokens, 3 * hidden]``: query | key | value of each group."""
        return F.linear(states_TH, self.grouped("weight"), self.grouped("bias"))

    def grouped(self, name: str) -> Tensor:
        """Concatenate the parameters called ``name`` of the projections in the order of ``qkv``'s slices."""
        split = [getattr(layer, name).split(self.widths) for layer in (self.query, self.key, self.value)]
        return torch.cat([part for group in zip(*split, strict=True) for part in group])

    def query_key_value(self, states_TH: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project to query, key and value, ``[tokens, heads, head_dim]`` each."""
        query, key, value = (layer(states_TH) for layer in (self.query, self.key, self.value))
        return self.by_head(query), self.by_head(key), self.by_head(value)

    def by_head(self, states_TH: Tensor) -> Tensor:
        return states_TH.unflatten(1, (self.heads, -1))


class PatternAttention(SelfAttention):
    """Attention by the configuration's pattern; no parameters but BERT's (paper section 3.2)."""

    def __init__(self, config: MateConfig) -> None:
        pattern: Pattern = config.pattern()
        super().__init__(config, [group.heads for group in pattern.groups])
        self.pattern = pattern

    def forward(self, states_TH: Tensor, plan: Plan, dropout: Dropout | None = None) -> Tensor:
        return attend(self.qkv(states_TH), plan, self.pattern, dropout)

    def probabilities(self, states_TH: Tensor, plan: EagerPlan) -> list[Tensor]:
        """Return the attention probabilities of each document, ``[heads, n, n]``, queries before keys; no dropout."""
        return eager_probabilities(self.qkv(states_TH), plan, self.pattern)


class LinformerAttention(SelfAttention):
    """One matrix ``[S, K]`` per layer, shared by keys, values and heads; no bias (docs/notes.md, note 15)."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        # A table by place in the document: an embedding in shape and initialisation.
        self.seq_projection = nn.Embedding(config.linformer_tokens, config.linformer_k)

    def forward(self, states_TH: Tensor, plan: LinformerPlan) -> Tensor:
        return attend_linformer(self.qkv(states_TH), self.seq_projection.weight, plan, self.heads, self.dropout)


class TableEtcAttention(SelfAttention):
    """Relative positions: each label adds a vector per head to the key (paper section 5.1)."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.relative_keys = nn.Embedding(LABELS, config.hidden_size)

    def forward(self, states_TH: Tensor, plan: TableEtcPlan | NativeTableEtcPlan) -> Tensor:
        """Map ``[tokens + global tokens, hidden]`` to the same."""
        return attend_table_etc(self.qkv(states_TH), self.relative_keys.weight, plan, self.heads, self.dropout)


class GlobalStates(nn.Module):
    """Initial states of TableETC's global tokens: learned, the same in every document."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.states = nn.Embedding(config.table_etc_global_size, config.hidden_size)

    def forward(self, plan: TableEtcPlan | NativeTableEtcPlan) -> Tensor:
        """Return ``[global tokens, hidden]`` in the order of the plan."""
        return self.states(plan.slots)


class BigBirdAttention(SelfAttention):
    """BigBird (Zaheer et al. 2020): global tokens, neighbouring blocks and random blocks.

    Positions come from the embeddings, as in BigBird's internal form, so there are no parameters but BERT's.
    """

    def forward(self, states_TH: Tensor, plan: GlobalLocalPlan) -> Tensor:
        return attend_global_local(*self.query_key_value(states_TH), plan, dropout=self.dropout).flatten(1)


class EtcAttention(SelfAttention):
    """ETC (Ainslie et al. 2020): global tokens, a window of R tokens either way, labels for relative positions.

    Labels: clipped offsets if both tokens are global or neither is, and one label for each direction between the two.
    ETC's labels for the structure of a text are not included. A label adds a vector to the key in each head.
    """

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.relative = nn.Embedding(LABELS, config.hidden_size)

    def forward(self, states_TH: Tensor, plan: GlobalLocalPlan) -> Tensor:
        bias = EtcBias(self.by_head(self.relative.weight))
        return attend_global_local(*self.query_key_value(states_TH), plan, bias, self.dropout).flatten(1)


class EtcBias:
    """Scores that ETC's labels add, see ``mate_cli.attention.global_local.Bias``.

    Args:
        vectors: ``[labels, heads, head_dim]``.
    """

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors

    def of_blocks(self, query: Tensor, plan: GlobalLocalPlan) -> Tensor:
        """The window is a band of 2 R + 1 within the three blocks."""
        by_label = self._by_label(query)
        place = torch.arange(plan.radius, device=query.device)
        offset = torch.arange(-plan.radius, 2 * plan.radius, device=query.device) - place[:, None]
        of_window = by_label.gather(-1, _label(offset).expand(*by_label.shape[:3], -1))
        of_window = of_window.masked_fill(offset.abs() > plan.radius, -torch.inf)
        first = plan.is_key.shape[-1] - of_window.shape[-1]
        to_global = by_label[..., _LONG_TO_GLOBAL, None].expand(-1, -1, -1, first)
        return torch.cat([to_global, of_window], -1)

    def of_globals(self, query: Tensor, tokens: int) -> Tensor:
        by_label, first = self._by_label(query), query.shape[2]
        place = torch.arange(tokens, device=query.device)
        label = _label(place - place[:first, None]).masked_fill(place >= first, _GLOBAL_TO_LONG)
        return by_label.gather(-1, label.expand(*by_label.shape[:3], -1))

    def _by_label(self, query: Tensor) -> Tensor:
        """Map ``[batch, heads, queries, head_dim]`` to ``[batch, heads, queries, labels]``."""
        vectors = self.vectors.permute(1, 2, 0).to(query.dtype)
        return query @ vectors / query.shape[-1] ** 0.5


def _label(offset: Tensor) -> Tensor:
    return offset.clamp(-FARTHEST, FARTHEST) + FARTHEST


class ReformerAttention(nn.Module):
    """Reformer (Kitaev et al. 2020): shared queries and keys in buckets of similar tokens.

    Reformer was defined for text from left to right; here, as paper section 2 suggests, a token sees both sides. Its
    reversible layers and chunked feed-forward are not attention and are left out. Each layer draws random rotations
    once and stores them with the weights.
    """

    rotations: Tensor

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.heads = config.num_attention_heads
        head_dim = config.hidden_size // config.num_attention_heads
        self.register_buffer("rotations", torch.randn(REFORMER_ROUNDS, self.heads, head_dim, MAX_DIGITS, BASE // 2))
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, states_TH: Tensor, plan: LshPlan) -> Tensor:
        query, value = (layer(states_TH).unflatten(1, (self.heads, -1)) for layer in (self.query, self.value))
        return attend_lsh(query, value, self.rotations, plan, self.dropout if self.training else 0.0).flatten(1)


class TransformerXLAttention(SelfAttention):
    """Transformer-XL (Dai et al. 2019): relative positions over all pairs; ``position`` turns sinusoids into keys.

    Its recurrence carries states from one segment of a text to the next. An encoder reads a document at once, so the
    document is one segment and attention is quadratic, as in paper table 1; segments of fixed length with a cache would
    make it linear, but limit its view to two segments. ``u`` and ``v`` start at zero.
    """

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.position = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        head_dim = config.hidden_size // self.heads
        self.u = nn.Parameter(torch.zeros(self.heads, head_dim))
        self.v = nn.Parameter(torch.zeros(self.heads, head_dim))

    def forward(self, states_TH: Tensor, plan: RelativePlan) -> Tensor:
        positions = self.by_head(self.position(sinusoids(plan.longest, states_TH)))
        inputs = self.query_key_value(states_TH)
        return attend_relative(*inputs, positions, (self.u, self.v), plan, self.dropout).flatten(1)
