"""ETC's attention (Ainslie et al. 2020; checklist 51): global tokens, a window, and labels for relative positions.

A pair's label has a vector that is added to the key, in each head: score = query (key + label) / sqrt(head_dim).
For ``mate bench`` only.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mate_cli.attention.global_local import GlobalLocalPlan, attend_global_local
from mate_cli.models.configuration import MateConfig

# Offsets are told apart up to here, as in ETC.
MAX_OFFSET = 12
_LONG_TO_GLOBAL, _GLOBAL_TO_LONG = 2 * MAX_OFFSET + 1, 2 * MAX_OFFSET + 2
LABELS = 2 * MAX_OFFSET + 3


class EtcAttention(nn.Module):
    """A token sees the global ones and those at most R away; a global one sees all.

    Labels: clipped offsets where both tokens are global or neither is, and one label for each direction between
    the two. ETC's labels for the structure of the text are left to TableETC.
    """

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.relative = nn.Embedding(LABELS, config.hidden_size)
        self.heads = config.num_attention_heads
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, states_TH: Tensor, plan: GlobalLocalPlan) -> Tensor:
        """``[tokens, hidden]`` to the same."""
        layers = (self.query, self.key, self.value)
        query, key, value = (layer(states_TH).unflatten(1, (self.heads, -1)) for layer in layers)
        bias = RelativeBias(self.relative.weight.unflatten(1, (self.heads, -1)))
        dropout = self.dropout if self.training else 0.0
        return attend_global_local(query, key, value, plan, bias, dropout).flatten(1)


class RelativeBias:
    """What the labels add to the scores.

    Args:
        vectors: ``[labels, heads, head_dim]``.
    """

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors

    def of_blocks(self, query: Tensor, plan: GlobalLocalPlan) -> Tensor:
        """The window is a band of 2 R + 1 within the three blocks; see ``Bias``."""
        of_labels = self._of_labels(query)
        place = torch.arange(plan.radius, device=query.device)
        offset = torch.arange(-plan.radius, 2 * plan.radius, device=query.device) - place[:, None]
        of_window = of_labels.gather(-1, _label(offset).expand(*of_labels.shape[:3], -1))
        of_window = of_window.masked_fill(offset.abs() > plan.radius, -torch.inf)
        first = plan.is_key.shape[-1] - of_window.shape[-1]
        to_global = of_labels[..., _LONG_TO_GLOBAL, None].expand(-1, -1, -1, first)
        return torch.cat([to_global, of_window], -1)

    def of_globals(self, query: Tensor, tokens: int) -> Tensor:
        """See ``Bias``."""
        of_labels, first = self._of_labels(query), query.shape[2]
        place = torch.arange(tokens, device=query.device)
        label = _label(place - place[:first, None]).masked_fill(place >= first, _GLOBAL_TO_LONG)
        return of_labels.gather(-1, label.expand(*of_labels.shape[:3], -1))

    def _of_labels(self, query: Tensor) -> Tensor:
        """``[batch, heads, queries, head_dim]`` to ``[batch, heads, queries, labels]``."""
        vectors = self.vectors.permute(1, 2, 0).to(query.dtype)
        return query @ vectors / query.shape[-1] ** 0.5


def _label(offset: Tensor) -> Tensor:
    return offset.clamp(-MAX_OFFSET, MAX_OFFSET) + MAX_OFFSET
