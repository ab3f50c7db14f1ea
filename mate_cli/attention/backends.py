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
    if device != "cpu" or not set(kinds) <= {"row", "column"}:
        return "dense"
    lengths = np.bincount(layout.document[layout.document >= 0])
    dense_pairs = float((lengths.astype(float) ** 2).sum())
    ragged_pairs = np.mean([_line_pairs(layout, kind) for kind in kinds])
    return "ragged" if 1.4 * ragged_pairs + 300 * lengths.sum() < dense_pairs else "dense"


def _line_pairs(layout: Layout, kind: Kind) -> float:
    """Pairs of queries and keys that one head of the kind needs for the table's tokens."""
    table = (layout.segment != 0) & (layout.document >= 0)
    question = np.bincount(layout.document[(layout.segment == 0) & (layout.document >= 0)], minlength=1)
    number = layout.row if kind == "row" else layout.column
    line = np.stack([layout.document[table], number[table]])
    (document, _), length = np.unique(line, axis=1, return_counts=True)
    return float((length * (length + question[document])).sum())
