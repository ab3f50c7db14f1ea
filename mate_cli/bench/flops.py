"""FLOPs of a call, counted in the kernels and computed by formula (paper figure 5).

The formula: 2 per weight of the linear layers and token, 4 per pair of query and key and unit of a head. The backward
pass takes twice the linear part; of the pairs, twice if the probabilities were kept, 2.5 times if a flash kernel
computes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from mate_cli.attention import Plan
from mate_cli.attention.global_local import GlobalLocalPlan
from mate_cli.attention.linformer import LinformerPlan
from mate_cli.attention.lsh import BASE, MAX_DIGITS, LshPlan
from mate_cli.attention.native.attend import counting_flops
from mate_cli.attention.native.table_etc import NativeTableEtcPlan
from mate_cli.attention.relative import RelativePlan
from mate_cli.attention.table_etc import LABELS, TableEtcPlan
from mate_cli.bench.point import Point
from mate_cli.models.configuration import MateConfig
from mate_cli.models.self_attention import REFORMER_ROUNDS

FLASH_BACKWARD = 2.5
KEPT_BACKWARD = 2.0

# FLOP/s of dense matrix products by data sheet; fp32 as PyTorch computes it by default, without TF32. A device of a
# TPU v3 is a core, half a chip; from v4 on it is a chip.
PEAKS = {
    ("A100", "bf16"): 312e12,
    ("A100", "fp32"): 19.5e12,
    ("H100", "bf16"): 989e12,
    ("H100", "fp32"): 67e12,
    ("H200", "bf16"): 989e12,
    ("H200", "fp32"): 67e12,
    ("TPU v3", "bf16"): 61.5e12,
    ("TPU v4", "bf16"): 275e12,
    ("TPU v5e", "bf16"): 197e12,
    ("TPU v6e", "bf16"): 918e12,
}


def peak_rate(point: Point) -> float | None:
    """Return the FLOP/s of the device in the point's precision; None for CPUs and unknown GPUs."""
    if point.device != "cuda":
        return None
    name = torch.cuda.get_device_name()
    return next((rate for (gpu, dtype), rate in PEAKS.items() if gpu in name and dtype == point.dtype), None)


def counted_flops(call: Callable[[], None]) -> int:
    """Count the FLOPs of a call's matrix products by PyTorch's counter, which does not see the kernel of ``native``."""
    with FlopCounterMode(display=False, custom_mapping=_CPU_KERNELS) as counter, counting_flops() as of_native:
        call()
    return int(counter.get_total_flops()) + sum(of_native)


def _forward(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


def _backward(grad: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_backward_flop_count(grad, query, key, value))


# PyTorch's counter knows the flash kernels of GPUs alone.
_CPU_KERNELS = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _forward,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _backward,
}


def linear_flops(point: Point, tokens: int) -> float:
    """Return the FLOPs of projections and feed-forward layers for that many tokens."""
    hidden, _, intermediate = point.dimensions
    weights = 4 * hidden**2 + 2 * hidden * intermediate
    return 2.0 * tokens * weights * point.layers * (3 if point.is_training else 1)


def attention_flops(point: Point, head_pairs: int, backward: float) -> float:
    """Return the FLOPs of the attention to ``head_pairs`` pairs per layer, summed over its heads."""
    hidden, heads, _ = point.dimensions
    return 4.0 * head_pairs * (hidden // heads) * point.layers * (1 + backward if point.is_training else 1)


class Product(NamedTuple):
    """FLOPs of all layers in the forward pass, and those of the backward pass as a multiple of them."""

    forward: float
    backward: float


def sparse_products(plan: Plan, config: MateConfig, point: Point) -> list[Product]:
    """List the matrix products of a model whose attention follows no pattern of lines, besides its linear layers.

    A negative product is one that the linear layers lack.
    """
    return [Product(point.layers * part.forward, part.backward) for part in _of_layer(plan, config, point)]


@singledispatch
def _of_layer(plan: Plan, config: MateConfig, point: Point) -> list[Product]:
    raise ValueError(f"no formula for the FLOPs of {plan.backend}")


@_of_layer.register
def _(plan: LinformerPlan, config: MateConfig, point: Point) -> list[Product]:
    """Keys and values are projected to K places; every token attends to those."""
    projection = 2.0 * plan.tokens * config.linformer_k * config.hidden_size
    return [Product(2 * projection, KEPT_BACKWARD), Product(2 * projection, FLASH_BACKWARD)]


@_of_layer.register
def _(plan: GlobalLocalPlan, config: MateConfig, point: Point) -> list[Product]:
    """Blocks and global tokens; ETC adds the products of queries and labels, and training keeps its scores."""
    firsts = sum(span.middle - span.start for span in plan.spans)
    of_firsts = sum((span.middle - span.start) * (span.end - span.start) for span in plan.spans)
    pairs = len(plan.block_index) * plan.is_key.shape[-1] + of_firsts
    if config.heads != "etc":
        return [_pairs(pairs, config, FLASH_BACKWARD)]
    labels = 2.0 * (len(plan.block_index) + firsts) * LABELS * config.hidden_size
    return [_pairs(pairs, config, KEPT_BACKWARD), Product(labels, KEPT_BACKWARD)]


@_of_layer.register
def _(plan: TableEtcPlan, config: MateConfig, point: Point) -> list[Product]:
    """The global tokens pass through the linear layers as well."""
    pairs = plan.labels.numel() + sum(labels.numel() for labels in plan.global_labels)
    labels = 2.0 * (plan.tokens + len(plan.slots)) * LABELS * config.hidden_size
    return [_pairs(pairs, config, KEPT_BACKWARD), Product(labels, KEPT_BACKWARD), _of_globals(plan, point)]


@_of_layer.register
def _(plan: NativeTableEtcPlan, config: MateConfig, point: Point) -> list[Product]:
    """Backward computes the scores again, those of the labels too."""
    labels = 2.0 * len(plan.groups[0].order) * LABELS * config.hidden_size
    pairs = _pairs(plan.groups[0].pairs, config, FLASH_BACKWARD)
    return [pairs, Product(labels, 3.0), _of_globals(plan, point)]


def _of_globals(plan: TableEtcPlan | NativeTableEtcPlan, point: Point) -> Product:
    """Return the linear layers' product with the global tokens."""
    return Product(linear_flops(point, len(plan.slots)) / point.layers / (3 if point.is_training else 1), 2.0)


@_of_layer.register
def _(plan: LshPlan, config: MateConfig, point: Point) -> list[Product]:
    """Hashing has no gradient; each query meets two chunks of keys in each round; keys are the queries."""
    hashing = 2.0 * len(plan.real) * config.hidden_size * REFORMER_ROUNDS * MAX_DIGITS * BASE // 2
    pairs = REFORMER_ROUNDS * len(plan.rank_at) * 2 * plan.chunk
    no_keys = -2.0 * plan.tokens * config.hidden_size**2
    return [Product(hashing, 0.0), _pairs(pairs, config, KEPT_BACKWARD), Product(no_keys, 2.0)]


@_of_layer.register
def _(plan: RelativePlan, config: MateConfig, point: Point) -> list[Product]:
    """All pairs, by content and by position; positions are projected, but have no gradient themselves."""
    tokens = [end - start for start, end in plan.spans]
    by_position = 2.0 * sum(n * (2 * n - 1) for n in tokens) * config.hidden_size
    projected = 2.0 * (2 * plan.longest - 1) * config.hidden_size**2
    pairs = _pairs(sum(n * n for n in tokens), config, KEPT_BACKWARD)
    return [pairs, Product(by_position, KEPT_BACKWARD), Product(projected, 1.0)]


def _pairs(pairs: int, config: MateConfig, backward: float) -> Product:
    """Return the product of scores and of weighted values of that many pairs in every head."""
    return Product(4.0 * pairs * config.hidden_size, backward)
