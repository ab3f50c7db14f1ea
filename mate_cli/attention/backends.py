"""The backends by name, and the rule that picks one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from mate_cli.attention.dense import DensePlan, attend_dense
from mate_cli.attention.eager import EagerPlan, attend_eager
from mate_cli.attention.lines import ragged_plan
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import Layout, Plan, document_plan
from mate_cli.attention.ragged import attend_ragged


class Backend(NamedTuple):
    """How a backend plans a batch and how it computes with the plan."""

    plan: Callable[[Layout, tuple[Kind, ...]], Plan]
    attend: Callable[..., Tensor]


# Fitted on a CPU with AVX-512, 32 and 64 wide heads, 32 bits and bf16, 1 to 8 documents of 96 to 512 tokens.
_ROW_COST = 100

BACKENDS: dict[str, Backend] = {
    "eager": Backend(partial(document_plan, EagerPlan), attend_eager),
    "dense": Backend(partial(document_plan, DensePlan), attend_dense),
    "ragged": Backend(ragged_plan, attend_ragged),
}


def build_plan(layout: Layout, kinds: tuple[Kind, ...], backend: str = "auto", device: str = "cpu") -> Plan:
    """Plan a packed batch for the kinds of heads of a model.

    Args:
        backend: a key of ``BACKENDS``, or ``auto`` for the one that should be fastest; all of them are exact.
        device: type of the device that will compute.
    """
    if backend == "auto":
        backend = fastest_backend(layout, kinds, device)
    return BACKENDS[backend].plan(layout, kinds)


def attend(qkv: Tensor, plan: Any, pattern: Pattern, dropout: float = 0.0) -> Tensor:
    """Multi-head attention over a packed batch.

    Args:
        qkv: ``[tokens, 3 * hidden]``: head groups in order, within a group query | key | value, each
            ``[heads * head_dim]``.
        dropout: share of attention probabilities dropped (``eager`` alone has it).

    Returns:
        ``[tokens, hidden]``, heads in order; zero at padding.
    """
    return BACKENDS[plan.backend].attend(qkv, plan, pattern, dropout)


def fastest_backend(layout: Layout, kinds: tuple[Kind, ...], device: str) -> str:
    """``ragged`` where lines are short enough against the documents, else ``dense``."""
    if device != "cpu" or "row_or_column" in kinds:
        return "dense"
    dense_cost = int((np.bincount(layout.document[layout.document >= 0]) ** 2).sum())
    costs = [dense_cost if kind == "full" else _ragged_cost(layout, kind) for kind in kinds]
    return "ragged" if np.mean(costs) <= dense_cost else "dense"


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
