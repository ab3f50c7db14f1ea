"""Numbers of pairs of queries and keys: those that a pattern needs, and those that a plan computes."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from mate_cli.attention import Layout, Pattern, Plan
from mate_cli.attention.blocks import BlocksPlan
from mate_cli.attention.bucketed import BucketedPlan
from mate_cli.attention.flex import BLOCK, FlexPlan
from mate_cli.attention.lines import RaggedPlan
from mate_cli.attention.native.plan import NativePlan
from mate_cli.attention.pattern import Kind
from mate_cli.attention.plan import DocumentPlan
from mate_cli.attention.varlen import VarlenPlan

COUNTED_HEADS = ("mate", "full", "row_or_column")
"""Heads whose pairs follow from a pattern."""


def needed_pairs(pattern: Pattern, layout: Layout) -> int:
    """Count the pairs that attend to each other, summed over the heads; ``layout`` has no padding."""
    return sum(group.heads * kind_pairs(group.kind, layout) for group in pattern.groups)


def kind_pairs(kind: Kind, layout: Layout) -> int:
    """Count the pairs of one head: questions with all tokens in both directions, and the table within its lines."""
    if kind == "full":
        return full_pairs(layout)
    tokens = np.bincount(layout.document)
    questions = np.bincount(layout.document[layout.segment == 0], minlength=len(tokens))
    with_question = int((questions * (2 * tokens - questions)).sum())
    in_rows, in_columns = _in_lines(layout, layout.row), _in_lines(layout, layout.column)
    if kind != "row_or_column":
        return with_question + (in_rows if kind == "row" else in_columns)
    cell = layout.row * (int(layout.column.max(initial=0)) + 1) + layout.column
    return with_question + in_rows + in_columns - _in_lines(layout, cell)


def full_pairs(layout: Layout) -> int:
    """Count the pairs of tokens of one document."""
    return int((np.bincount(layout.document) ** 2).sum())


def _in_lines(layout: Layout, line: np.ndarray) -> int:
    table = layout.segment != 0
    code = layout.document[table] * (int(line.max(initial=0)) + 1) + line[table]
    _, length = np.unique(code, return_counts=True)
    return int((length**2).sum())


def computed_pairs(plan: Plan, pattern: Pattern, layout: Layout) -> int:
    """Count the pairs that the kernels compute, padding included, summed over the heads."""
    return sum(group.heads * _of_kind(plan, group.kind, layout) for group in pattern.groups)


@singledispatch
def _of_kind(plan: Plan, kind: Kind, layout: Layout) -> int:
    """Count the pairs of one head."""
    raise ValueError(f"no formula for the pairs of {plan.backend}")


@_of_kind.register
def _(plan: DocumentPlan, kind: Kind, layout: Layout) -> int:
    return full_pairs(layout)


@_of_kind.register
def _(plan: VarlenPlan, kind: Kind, layout: Layout) -> int:
    return kind_pairs(kind, layout)


@_of_kind.register
def _(plan: NativePlan, kind: Kind, layout: Layout) -> int:
    return plan.groups[plan.kinds.index(kind)].pairs


@_of_kind.register
def _(plan: RaggedPlan, kind: Kind, layout: Layout) -> int:
    group = plan.groups[plan.kinds.index(kind)]
    of_lines = sum(lines.lines * lines.queries * lines.keys for lines in group.classes)
    blocks = (*group.dense, *group.merged)
    return of_lines + sum((b.query_end - b.query_start) * (b.key_end - b.key_start) for b in blocks)


@_of_kind.register
def _(plan: BucketedPlan, kind: Kind, layout: Layout) -> int:
    group = plan.groups[plan.kinds.index(kind)]
    return group.mask.numel() + sum(mask.numel() for mask in group.global_masks)


@_of_kind.register
def _(plan: BlocksPlan, kind: Kind, layout: Layout) -> int:
    number = plan.kinds.index(kind)
    asking = plan.asking[number]
    keys = plan.widths[number] + asking.query_is_real.shape[1]
    return len(plan.groups[number].order) * keys + len(asking.query_index) * asking.key_bias.shape[-1]


@_of_kind.register
def _(plan: FlexPlan, kind: Kind, layout: Layout) -> int:
    pairs = plan.groups[plan.kinds.index(kind)].pairs
    return int(pairs.partial_count.sum() + pairs.full_count.sum()) * BLOCK**2
