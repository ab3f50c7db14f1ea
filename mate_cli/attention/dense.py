"""Dense attention by PyTorch's fused kernel: computes every pair of a document, with one mask per kind of head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from mate_cli.attention.dropout import Dropout, attend_pairs
from mate_cli.attention.eager import attend_documents, document_masks
from mate_cli.attention.kernel import kernel_precision
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import DocumentPlan


@dataclass(frozen=True)
class DensePlan(DocumentPlan):
    """The masks are quadratic in the tokens, so the device that uses them makes them, once for all layers."""

    backend: ClassVar[str] = "dense"
    masks: dict[tuple[Kind, torch.dtype], list[Tensor | None]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def masks_for(self, kinds: tuple[Kind, ...], qkv: Tensor) -> dict[Kind, list[Tensor | None]]:
        """Return the additive masks (0 or -inf) of every document, ``[n, n]``; None if all pairs attend."""
        for kind in kinds:
            if (kind, qkv.dtype) not in self.masks:
                self.masks[kind, qkv.dtype] = [_additive(m, qkv) for m in document_masks(self, (kind,))[kind]]
        return {kind: self.masks[kind, qkv.dtype] for kind in kinds}


def attend_dense(qkv: Tensor, plan: DensePlan, pattern: Pattern, dropout: Dropout | None = None) -> Tensor:
    """See ``attend``."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: Dropout | None) -> Tensor:
        mask = None if mask is None else mask[None, None]
        return attend_pairs(query[None], key[None], value[None], mask, dropout)[0]

    return attend_documents(qkv, plan, pattern, plan.masks_for(pattern.kinds, qkv), attend, dropout)


def _additive(mask: Tensor | None, qkv: Tensor) -> Tensor | None:
    if mask is None:
        return None
    return torch.zeros_like(mask, dtype=kernel_precision(qkv, len(mask))).masked_fill_(~mask, -torch.inf)
