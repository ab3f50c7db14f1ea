"""PyTorch's attention kernel, called in the precision in which it is fastest."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.counting import device_type

# From this many queries on the CPU kernel takes 256 of them at a time, and bf16 is no slower than fp32.
_LONG = 768


def attend_block(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: float = 0.0) -> Tensor:
    """Return ``softmax(query key^T / sqrt(head_dim) + mask) value``, ``[blocks, heads, n, head_dim]`` each.

    Args:
        mask: float, added to the scores, or bool, True for the keys that count.
    """
    precision = kernel_precision(query, query.shape[-2])
    if precision == query.dtype:
        return F.scaled_dot_product_attention(query, key, value, mask, dropout)
    if mask is not None and mask.is_floating_point():
        mask = mask.to(precision)
    with torch.autocast(query.device.type, enabled=False):
        states = F.scaled_dot_product_attention(
            query.to(precision), key.to(precision), value.to(precision), mask, dropout
        )
    return states.to(query.dtype)


def kernel_precision(tensor: Tensor, queries: int) -> torch.dtype:
    """Return the dtype to compute a block in: on a CPU at least fp32 for short blocks, else the tensor's.

    On short blocks the bf16 backward kernel takes up to six times as long and is less accurate.
    """
    return tensor.dtype if device_type(tensor) != "cpu" or queries >= _LONG else at_least_float(tensor)


def at_least_float(tensor: Tensor) -> torch.dtype:
    """Return fp32 for a bf16 or fp16 tensor, else its own dtype."""
    return torch.promote_types(tensor.dtype, torch.float32)
