"""Dense attention on padded batches: tensor operations alone, without a loop over documents, for exported graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.pattern import Kind, Pattern, allowed, split_groups
from mate_cli.attention.plan import Plan


@dataclass(frozen=True)
class PaddedPlan(Plan):
    """
    Attributes:
        masks: additive masks of each kind (0 or -inf), float32 ``[batch, 1, n, n]``.
    """

    backend: ClassVar[str] = "padded"
    masks: dict[Kind, Tensor]


def padded_plan(kinds: tuple[Kind, ...], keep: Tensor, row: Tensor, column: Tensor, segment: Tensor) -> PaddedPlan:
    """Make the plan of a padded batch; padding is a key of padding alone.

    Args:
        keep: bool ``[batch, n]``, False at padding; row, column, segment: int64 ``[batch, n]``.
    """
    batch, tokens = keep.shape
    visible = keep[:, None, :] | ~keep[:, :, None]
    masks = {
        kind: torch.zeros(1).masked_fill(~(allowed(kind, row, column, segment) & visible), -torch.inf)[:, None]
        for kind in kinds
    }
    document, number = torch.arange(batch, dtype=torch.int32), torch.arange(tokens, dtype=torch.int32)
    return PaddedPlan(((document[:, None] << 16) + number[None, :]).flatten(), masks)


def attend_padded(qkv: Tensor, plan: PaddedPlan, pattern: Pattern) -> Tensor:
    """Compute as ``mate_cli.attention.attend`` on the flattened batch, ``[batch * n, 3 * hidden]``."""
    heads = []
    for kind, rows in split_groups(qkv, pattern):
        mask = plan.masks[kind].to(qkv.dtype)
        query, key, value = rows.unflatten(0, (mask.shape[0], mask.shape[2])).permute(2, 0, 3, 1, 4)
        states = F.scaled_dot_product_attention(query, key, value, mask)
        heads.append(states.transpose(1, 2).flatten(2).flatten(0, 1))
    return torch.cat(heads, 1)
