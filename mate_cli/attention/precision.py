"""Which precision PyTorch's attention kernel for CPUs is fastest in."""

from __future__ import annotations

import torch
from torch import Tensor

# From this many queries on the kernel takes 256 of them at a time, and bf16 is no slower than 32 bits.
_LONG = 768


def kernel_precision(tensor: Tensor, queries: int) -> torch.dtype:
    """What to compute the gradients of a block in: 32 bits at least where it is short.

    In bf16 the backward kernel takes up to three times as long on short blocks, and errs more.
    """
    return tensor.dtype if queries >= _LONG else at_least_float(tensor)


def at_least_float(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)
