"""The registry of backends and the rule behind ``auto``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from mate_cli.attention.blocks import attend_blocks, blocks_plan
from mate_cli.attention.bucketed import PAPER_BUCKETS, Buckets, attend_bucketed, bucketed_plan
from mate_cli.attention.dense import DensePlan, attend_dense
from mate_cli.attention.dropout import Dropout
from mate_cli.attention.eager import EagerPlan, attend_eager
from mate_cli.attention.flex import attend_flex, flex_plan
from mate_cli.attention.lines import RaggedPlan, ragged_plan
from mate_cli.attention.native.attend import attend_native
from mate_cli.attention.native.plan import native_plan
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import FixedShape, Layout, Plan, document_plan
from mate_cli.attention.ragged import attend_ragged
from mate_cli.attention.varlen import attend_varlen, varlen_plan
from mate_cli.config.choices import one_for_each
from mate_cli.config.model import ATTENTION_BACKENDS


class Backend(NamedTuple):
    """Functions and limits of a backend.

    Attributes:
        plan: makes the plan of a packed batch.
        attend: computes with a plan: ``attend(qkv, plan, pattern)``, followed by ``dropout`` if ``has_dropout``.
        has_dropout: it can drop attention probabilities.
        needs_gpu: it runs on CUDA alone.
        needs_cpu: it runs on CPUs alone.
        fixed_shapes: the sizes of a plan follow from ``Layout.shape`` alone if there is one.
    """

    plan: Callable[[Layout, tuple[Kind, ...]], Plan]
    attend: Callable[..., Tensor]
    has_dropout: bool = False
    needs_gpu: bool = False
    needs_cpu: bool = False
    fixed_shapes: bool = False


# Cost of a token in ``dense`` beside its pairs, in pairs. From the processor time of 56 points (one thread of an AMD
# EPYC with AVX-512, fp32, 64 wide heads; tables of all shapes, 128 to 1,024 tokens, questions of 10 and 120).
_DENSE_TOKEN_COST = 70
_CUDA_LONG = 1024
# Cost of a pair in ``blocks`` on XLA devices, over that in ``dense``: scores and their softmax are read or written
# about six times, 24 bytes in fp32; a block of 32 queries writes and reads keys and values of 64 bf16 numbers, 16 bytes
# a pair. An estimate: nothing was measured on a TPU.
_COPYING = 40 / 24

BACKENDS = one_for_each(
    ATTENTION_BACKENDS,
    {
        "eager": Backend(lambda layout, _: document_plan(EagerPlan, layout), attend_eager, True, fixed_shapes=True),
        "dense": Backend(lambda layout, _: document_plan(DensePlan, layout), attend_dense, True, fixed_shapes=True),
        "native": Backend(native_plan, attend_native, True, needs_cpu=True),
        "ragged": Backend(ragged_plan, attend_ragged, True, needs_cpu=True),
        "blocks": Backend(blocks_plan, attend_blocks, True, fixed_shapes=True),
        "varlen": Backend(varlen_plan, attend_varlen, needs_gpu=True),
        "flex": Backend(flex_plan, attend_flex, True, needs_gpu=True),
        "bucketed": Backend(bucketed_plan, attend_bucketed, True, fixed_shapes=True),
    },
)


Planner = Callable[[Layout], Plan]
"""Makes the plan of a batch from its layout; picklable, so that loader workers can have it."""


@dataclass(frozen=True)
class PatternPlanner:
    """Planner for the head groups of a model.

    Attributes:
        kinds: kinds of the model's head groups, in their order.
        backend: a key of ``BACKENDS``, or ``auto`` for the exact one that should be fastest.
        device: type of the device that will compute.
        buckets: global size and radius of ``bucketed``.
        low_precision: whether the model computes in bf16 or fp16, which ``varlen`` needs.
        dropout: whether attention probabilities are dropped, which ``varlen`` cannot.
        native: whether ``auto`` may take ``native``: its kernel is loaded. Known before loader workers get the planner.
    """

    kinds: tuple[Kind, ...]
    backend: str = "auto"
    device: str = "cpu"
    buckets: Buckets = PAPER_BUCKETS
    low_precision: bool = False
    dropout: bool = False
    native: bool = False

    def __call__(self, layout: Layout) -> Plan:
        name = self.backend
        if name == "auto":
            low_precision = self.low_precision and not self.dropout
            name = fastest_backend(layout, self.kinds, self.device, low_precision, self.native)
        if name == "bucketed":
            return bucketed_plan(layout, self.kinds, self.buckets)
        plan = BACKENDS[name].plan(layout, self.kinds)
        if self.backend == "auto" and isinstance(plan, RaggedPlan) and _dense_is_faster(plan, layout):
            return BACKENDS["dense"].plan(layout, self.kinds)
        return plan


def build_plan(layout: Layout, kinds: tuple[Kind, ...], backend: str = "auto", device: str = "cpu") -> Plan:
    """Make the plan of one packed batch; see ``PatternPlanner``."""
    return PatternPlanner(kinds, backend, device)(layout)


def attend(qkv: Tensor, plan: Any, pattern: Pattern, dropout: Dropout | None = None) -> Tensor:
    """Compute multi-head attention over a packed batch.

    Args:
        qkv: float ``[tokens, 3 * hidden]``: head groups in order, within a group query | key | value, each
            ``[heads * head_dim]``.
        dropout: attention probabilities to drop, the same in every backend.

    Returns:
        ``[tokens, hidden]`` of the same dtype, heads in order; zero at padding, any finite number at filler.

    Raises:
        ValueError: the backend has no dropout.
    """
    backend = BACKENDS[plan.backend]
    if backend.has_dropout:
        return backend.attend(qkv, plan, pattern, dropout)
    if dropout is not None:
        raise ValueError(f"{plan.backend} has no attention dropout")
    return backend.attend(qkv, plan, pattern)


def fastest_backend(
    layout: Layout, kinds: tuple[Kind, ...], device: str, low_precision: bool = False, native: bool = False
) -> str:
    """Name the exact backend that should be fastest for the documents and lines of a batch.

    CPU: ``native`` if its kernel works here, else ``ragged``, whose plan tells whether ``dense`` is faster; ``dense``
    for heads that ``ragged`` cannot do. XLA, which compiles for each shape: see ``cheapest_on_xla``. CUDA: from
    ``_CUDA_LONG`` tokens per document ``varlen`` in low precision and ``flex`` in fp32, else ``dense`` (an estimate,
    not measured).
    """
    if device == "xla" and "row_or_column" not in kinds:
        return "blocks" if layout.shape is None else cheapest_on_xla(kinds, layout.shape)
    tokens = np.bincount(layout.document[layout.document >= 0], minlength=1)
    if device == "cuda" and set(kinds) != {"full"} and tokens.mean() >= _CUDA_LONG:
        return "varlen" if low_precision and "row_or_column" not in kinds else "flex"
    if device == "cpu" and native:
        return "native"
    return "ragged" if device == "cpu" and "row_or_column" not in kinds else "dense"


def cheapest_on_xla(kinds: tuple[Kind, ...], shape: FixedShape) -> str:
    """Name the exact backend that should move fewer bytes for batches of one shape: ``blocks`` or ``dense``.

    ``blocks`` computes fewer pairs, and copies the keys and values of every block besides.
    """
    seen = [min(shape.window(kind), shape.tokens) + shape.question for kind in kinds if kind in ("row", "column")]
    return "dense" if seen and _COPYING * float(np.mean(seen)) >= shape.tokens else "blocks"


def _dense_is_faster(plan: RaggedPlan, layout: Layout) -> bool:
    """Say whether lines are so long, or documents so short, that all pairs of a document cost less (measured)."""
    tokens = np.bincount(layout.document[layout.document >= 0], minlength=1)
    costs = [group.cost for group in plan.groups if group.classes]
    return bool(costs) and np.mean(costs) > (tokens**2).sum() + _DENSE_TOKEN_COST * tokens.sum()
