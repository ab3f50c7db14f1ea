"""The backends by name, and the rule that picks one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from mate_cli.attention.blocks import attend_blocks, blocks_plan
from mate_cli.attention.bucketed import PAPER_BUCKETS, Buckets, attend_bucketed, bucketed_plan
from mate_cli.attention.dense import DensePlan, attend_dense
from mate_cli.attention.eager import EagerPlan, attend_eager
from mate_cli.attention.flex import attend_flex, flex_plan
from mate_cli.attention.lines import ragged_plan
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import Layout, Plan, document_plan
from mate_cli.attention.ragged import attend_ragged
from mate_cli.attention.varlen import attend_varlen, varlen_plan


class Backend(NamedTuple):
    """How a backend plans a batch and how it computes with the plan, and where it can.

    ``fixed_shapes``: where a layout has a shape, the sizes of its plan follow from that alone.
    """

    plan: Callable[[Layout, tuple[Kind, ...]], Plan]
    attend: Callable[..., Tensor]
    needs_gpu: bool = False
    fixed_shapes: bool = False


# `mate bench suite=backends`, CPU with AVX-512, 32 bits: from 180 to 400 the faster of the two is missed by 0.8% of its
# time on average of 72 points (1.1% at 100); at the 256 tokens between, they are equal to 2%.
_ROW_COST = 200
_CUDA_LONG = 1024

BACKENDS: dict[str, Backend] = {
    "eager": Backend(partial(document_plan, EagerPlan), attend_eager, fixed_shapes=True),
    "dense": Backend(partial(document_plan, DensePlan), attend_dense, fixed_shapes=True),
    "ragged": Backend(ragged_plan, attend_ragged),
    "blocks": Backend(blocks_plan, attend_blocks, fixed_shapes=True),
    "varlen": Backend(varlen_plan, attend_varlen, needs_gpu=True),
    "flex": Backend(flex_plan, attend_flex, needs_gpu=True),
    "bucketed": Backend(bucketed_plan, attend_bucketed, fixed_shapes=True),
}


Planner = Callable[[Layout], Plan]
"""Turns the layout of a batch into a plan; picklable, so that loader workers can have it."""


@dataclass(frozen=True)
class PatternPlanner:
    """Plans packed batches for the kinds of heads of a model.

    Attributes:
        kinds: of the model's head groups, in their order.
        backend: a key of ``BACKENDS``, or ``auto`` for the exact one that should be fastest.
        device: type of the device that will compute.
        buckets: what ``bucketed`` cuts by.
        low_precision: whether the model computes in bfloat16 or float16, which ``varlen`` needs.
    """

    kinds: tuple[Kind, ...]
    backend: str = "auto"
    device: str = "cpu"
    buckets: Buckets = PAPER_BUCKETS
    low_precision: bool = False

    def __call__(self, layout: Layout) -> Plan:
        name = self.backend
        if name == "auto":
            name = fastest_backend(layout, self.kinds, self.device, self.low_precision)
        if name == "bucketed":
            return bucketed_plan(layout, self.kinds, self.buckets)
        return BACKENDS[name].plan(layout, self.kinds)


def build_plan(layout: Layout, kinds: tuple[Kind, ...], backend: str = "auto", device: str = "cpu") -> Plan:
    """Plan one packed batch; see ``PatternPlanner``."""
    return PatternPlanner(kinds, backend, device)(layout)


def attend(qkv: Tensor, plan: Any, pattern: Pattern, dropout: float = 0.0) -> Tensor:
    """Multi-head attention over a packed batch.

    Args:
        qkv: ``[tokens, 3 * hidden]``: head groups in order, within a group query | key | value, each
            ``[heads * head_dim]``.
        dropout: share of attention probabilities dropped.

    Returns:
        ``[tokens, hidden]``, heads in order; zero at padding, anything finite at filler.

    Raises:
        ValueError: dropout is asked for, and the backend has none.
    """
    return BACKENDS[plan.backend].attend(qkv, plan, pattern, dropout)


def fastest_backend(layout: Layout, kinds: tuple[Kind, ...], device: str, low_precision: bool = False) -> str:
    """The exact backend that should be fastest, by length and number of the documents and their lines.

    CPU: ``ragged`` where lines are short enough against the documents, else ``dense`` (measured). XLA compiles
    for each shape, so it takes ``blocks``. CUDA: from ``_CUDA_LONG`` tokens a document on ``varlen`` in low
    precision and ``flex`` in 32 bits, else ``dense``; this one is an estimate, not measured.
    """
    if device == "xla" and "row_or_column" not in kinds:
        return "blocks"
    if device == "cuda":
        return _fastest_on_cuda(layout, kinds, low_precision)
    if device != "cpu" or "row_or_column" in kinds:
        return "dense"
    dense_cost = int((np.bincount(layout.document[layout.document >= 0]) ** 2).sum())
    costs = [dense_cost if kind == "full" else _ragged_cost(layout, kind) for kind in kinds]
    return "ragged" if np.mean(costs) <= dense_cost else "dense"


def _fastest_on_cuda(layout: Layout, kinds: tuple[Kind, ...], low_precision: bool) -> str:
    tokens = np.bincount(layout.document[layout.document >= 0], minlength=1)
    if set(kinds) == {"full"} or tokens.mean() < _CUDA_LONG:
        return "dense"
    return "varlen" if low_precision and "row_or_column" not in kinds else "flex"


def _ragged_cost(layout: Layout, kind: Kind) -> int:
    """Pairs of queries and keys of one head in ``ragged``, and what moving the rows costs in such pairs."""
    inside = layout.document >= 0
    asked, table = inside & (layout.segment == 0), inside & (layout.segment != 0)
    tokens = np.bincount(layout.document[inside])
    questions = np.bincount(layout.document[asked], minlength=len(tokens))
    number = layout.row if kind == "row" else layout.column
    base = int(number.max(initial=0)) + 1
    line, length = np.unique(layout.document[table] * base + number[table], return_counts=True)
    pairs = (length * (length + questions[line // base])).sum() + (questions * tokens).sum()
    return int(pairs + _ROW_COST * tokens.sum())
