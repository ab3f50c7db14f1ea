"""FLOPs of a call, counted in the kernels and computed by formula (paper figure 5).

The formula: 2 per weight of the linear layers and token, 4 per pair of query and key and unit of a head. The
backward pass takes twice the linear part; of the pairs, twice where the probabilities were kept, 2.5 times where
a flash kernel computes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from mate_cli.bench.point import Point

FLASH_BACKWARD = 2.5
KEPT_BACKWARD = 2.0


def counted_flops(call: Callable[[], None]) -> int:
    """FLOPs of the matrix products of a call, as PyTorch's counter sees its kernels."""
    with FlopCounterMode(display=False, custom_mapping=_CPU_KERNELS) as counter:
        call()
    return int(counter.get_total_flops())


def linear_flops(point: Point, tokens: int) -> float:
    """FLOPs of the projections and the feed-forward layers on that many tokens."""
    hidden, _, intermediate = point.dimensions
    weights = 4 * hidden**2 + 2 * hidden * intermediate
    return 2.0 * tokens * weights * point.layers * (3 if point.is_training else 1)


def attention_flops(point: Point, head_pairs: int, backward: float) -> float:
    """FLOPs of the attention over pairs summed over the heads of a layer."""
    hidden, heads, _ = point.dimensions
    return 4.0 * head_pairs * (hidden // heads) * point.layers * (1 + backward if point.is_training else 1)


def _forward(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


def _backward(grad: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_backward_flop_count(grad, query, key, value))


# PyTorch's counter knows the flash kernels of GPUs alone.
_CPU_KERNELS = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _forward,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _backward,
}
