"""Linformer (paper section 5.1): keys and values of a document are projected from its tokens to K places.

Every query attends to all K places; there is no mask. A document of n tokens takes the first n rows of the projection.
Padding is in no document, so it contributes nothing (docs/notes.md, note 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from mate_cli.attention.dropout import Dropout
from mate_cli.attention.eager import attend_documents, document_masks
from mate_cli.attention.kernel import attend_block
from mate_cli.attention.pattern import full_pattern
from mate_cli.attention.plan import DocumentPlan, Layout, Plan, document_plan
from mate_cli.system.errors import UserError


@dataclass(frozen=True)
class LinformerPlan(DocumentPlan):
    backend: ClassVar[str] = "linformer"


@dataclass(frozen=True)
class LinformerPlanner:
    """Planner for documents of at most ``tokens`` tokens, the number of rows of the projection."""

    tokens: int

    def __call__(self, layout: Layout) -> Plan:
        longest = int(np.diff(layout.spans(), axis=1).max(initial=0))
        if longest > self.tokens:
            raise UserError(
                f"an example has {longest} tokens, and this Linformer reads at most {self.tokens}, the rows of its "
                "projection; train it with a larger max_tokens"
            )
        return document_plan(LinformerPlan, layout)


def attend_linformer(qkv: Tensor, projection: Tensor, plan: LinformerPlan, heads: int, dropout: float = 0.0) -> Tensor:
    """Compute multi-head attention to projected keys and values.

    Args:
        qkv: ``[tokens, 3 * hidden]``, query | key | value, heads in order within each.
        projection: ``[S, K]``, shared by keys, values and heads.
        dropout: share of attention probabilities to drop.

    Returns:
        ``[tokens, hidden]``; zero at padding.
    """

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, _: Dropout | None) -> Tensor:
        to_places = projection[: key.shape[1]].T
        if mask is not None:  # the first token sees everything but filler
            to_places = to_places * mask[0]
        key, value = to_places @ key, to_places @ value
        return attend_block(query[None], key[None], value[None], dropout=dropout)[0]

    return attend_documents(qkv, plan, full_pattern(heads), document_masks(plan, ("full",)), attend)
