"""Transformer-XL's attention (Dai et al. 2019; paper table 1): relative positions over all pairs.

The score of a pair is ``((query + u) key + (query + v) position(offset)) / sqrt(head_dim)``. The second product is
computed for every offset at once and then shifted row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.kernel import attend_block
from mate_cli.attention.plan import Layout, Plan


@dataclass(frozen=True)
class RelativePlan(Plan):
    """``spans``: first token and end of each document."""

    backend: ClassVar[str] = "relative"
    spans: tuple[tuple[int, int], ...]

    @property
    def longest(self) -> int:
        return max((end - start for start, end in self.spans), default=1)


def relative_plan(layout: Layout) -> RelativePlan:
    """Cut the batch at the document borders."""
    return RelativePlan(layout.place(), tuple((start, end) for start, end in layout.spans().tolist()))


def sinusoids(longest: int, like: Tensor) -> Tensor:
    """Return sines and cosines ``[2 * longest - 1, width]`` of the offsets ``longest - 1`` down to ``1 - longest``.

    Width, dtype and device are those of ``like``.
    """
    # Angles reach thousands: bf16 has no digits left for them.
    dtype, width = torch.promote_types(like.dtype, torch.float32), like.shape[-1]
    offset = torch.arange(longest - 1, -longest, -1, dtype=dtype, device=like.device)
    frequency = 10_000 ** -(torch.arange(0, width, 2, dtype=dtype, device=like.device) / width)
    angle = offset[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], 1).to(like.dtype)


def attend_relative(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    positions: Tensor,
    biases: tuple[Tensor, Tensor],
    plan: RelativePlan,
    dropout: float = 0.0,
) -> Tensor:
    """Compute attention over a packed batch.

    Args:
        query, key, value: ``[tokens, heads, head_dim]``.
        positions: ``[2 * longest - 1, heads, head_dim]``, for the offsets ``i - j`` from large to small.
        biases: u and v, ``[heads, head_dim]``.

    Returns:
        ``[tokens, heads, head_dim]``, zero at padding.
    """
    output = query.new_zeros(query.shape)
    by_content, by_position = (query + bias.to(query.dtype) for bias in biases)
    for start, end in plan.spans:
        offsets = positions[plan.longest - (end - start) : plan.longest + (end - start) - 1]
        of_offsets = by_position[start:end].transpose(0, 1) @ offsets.permute(1, 2, 0)
        bias = _shifted(of_offsets) / query.shape[-1] ** 0.5
        queries, keys, values = (x[start:end].transpose(0, 1)[None] for x in (by_content, key, value))
        states = attend_block(queries, keys, values, bias[None], dropout)
        output[start:end] = states[0].transpose(0, 1)
    return output


def _shifted(of_offsets: Tensor) -> Tensor:
    """Turn scores by offset ``[heads, n, 2 n - 1]`` into scores by key ``[heads, n, n]``: row i begins at n - 1 - i."""
    tokens = of_offsets.shape[1]
    flat = F.pad(of_offsets, (0, 1)).flatten(1)[:, tokens - 1 :]
    return flat[:, : tokens * (2 * tokens - 1)].unflatten(1, (tokens, -1))[..., :tokens]
