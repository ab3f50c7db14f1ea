"""PyTorch's attention kernel, in the precision that it is fastest in."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

# From this many queries on the kernel for CPUs takes 256 of them at a time, and bf16 is no slower than 32 bits.
_LONG = 768


def attend_block(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, dropout: float = 0.0) -> Tensor:
    """``softmax(query key^T / sqrt(head_dim) + mask) value``, ``[blocks, heads, n, head_dim]`` each.

    Args:
        mask: to add to the scores, or bool: which keys count.
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
    """What to compute a block in: on a CPU 32 bits at least where it is short.

    In bf16 the backward kernel takes up to six times as long on short blocks, and errs more.
    """
    return tensor.dtype if tensor.device.type != "cpu" or queries >= _LONG else at_least_float(tensor)


def at_least_float(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)
