"""FLOPs by formula of the sparse models whose attention is no pattern of lines (paper table 1 and figure 5)."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

from mate_cli.attention import Plan
from mate_cli.attention.global_local import GlobalLocalPlan
from mate_cli.attention.linformer import LinformerPlan
from mate_cli.attention.lsh import BASE, MAX_DIGITS, LshPlan
from mate_cli.attention.relative import RelativePlan
from mate_cli.attention.table_etc import LABELS as TABLE_ETC_LABELS
from mate_cli.attention.table_etc import TableEtcPlan
from mate_cli.bench.flops import FLASH_BACKWARD, KEPT_BACKWARD, linear_flops
from mate_cli.bench.point import Point
from mate_cli.models.configuration import MateConfig
from mate_cli.models.etc import LABELS as ETC_LABELS
from mate_cli.models.reformer import ROUNDS


class Product(NamedTuple):
    """FLOPs of all layers in the forward pass, and those of the backward pass in multiples of them."""

    forward: float
    backward: float


def sparse_products(plan: Plan, config: MateConfig, point: Point) -> list[Product]:
    """What a forward pass computes beside the linear layers of its tokens; a negative product is one it lacks."""
    return [Product(point.layers * part.forward, part.backward) for part in _of_layer(plan, config, point)]


@singledispatch
def _of_layer(plan: Plan, config: MateConfig, point: Point) -> list[Product]:
    raise ValueError(f"no formula for the FLOPs of {plan.backend}")


@_of_layer.register
def _(plan: LinformerPlan, config: MateConfig, point: Point) -> list[Product]:
    """Keys and values are projected to K places; every token attends to those."""
    one = 2.0 * plan.tokens * config.linformer_k * config.hidden_size
    return [Product(2 * one, KEPT_BACKWARD), Product(2 * one, FLASH_BACKWARD)]


@_of_layer.register
def _(plan: GlobalLocalPlan, config: MateConfig, point: Point) -> list[Product]:
    """Blocks and global tokens; ETC adds the products of queries and labels, and its scores are kept for training."""
    firsts = sum(span.middle - span.start for span in plan.spans)
    of_firsts = sum((span.middle - span.start) * (span.end - span.start) for span in plan.spans)
    pairs = len(plan.block_index) * plan.is_key.shape[-1] + of_firsts
    if config.heads != "etc":
        return [_pairs(pairs, config, FLASH_BACKWARD)]
    labels = 2.0 * (len(plan.block_index) + firsts) * ETC_LABELS * config.hidden_size
    return [_pairs(pairs, config, KEPT_BACKWARD), Product(labels, KEPT_BACKWARD)]


@_of_layer.register
def _(plan: TableEtcPlan, config: MateConfig, point: Point) -> list[Product]:
    """The global tokens go through the linear layers as well."""
    pairs = plan.labels.numel() + sum(labels.numel() for labels in plan.global_labels)
    labels = 2.0 * (plan.tokens + len(plan.slots)) * TABLE_ETC_LABELS * config.hidden_size
    of_globals = linear_flops(point, len(plan.slots)) / point.layers / (3 if point.is_training else 1)
    return [_pairs(pairs, config, KEPT_BACKWARD), Product(labels, KEPT_BACKWARD), Product(of_globals, 2.0)]


@_of_layer.register
def _(plan: LshPlan, config: MateConfig, point: Point) -> list[Product]:
    """Hashing, which has no gradient; two chunks of keys for each query and round; keys are the queries."""
    hashing = 2.0 * len(plan.real) * config.hidden_size * ROUNDS * MAX_DIGITS * BASE // 2
    pairs = ROUNDS * len(plan.rank_at) * 2 * plan.chunk
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
    """Scores and weighted values of as many pairs in every head."""
    return Product(4.0 * pairs * config.hidden_size, backward)
