"""Dense attention through PyTorch's fused kernel: every pair computed, one mask per kind of head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.eager import attend_documents, document_masks
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import DocumentPlan


@dataclass(frozen=True)
class DensePlan(DocumentPlan):
    """The masks are quadratic in the tokens, so they are made where they are used, once for all layers."""

    backend: ClassVar[str] = "dense"
    masks: dict[tuple[Kind, torch.dtype], list[Tensor | None]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def masks_for(self, kinds: tuple[Kind, ...], dtype: torch.dtype) -> dict[Kind, list[Tensor | None]]:
        """Additive masks (0 or -inf) of every document, ``[n, n]`` in ``dtype``; None where all is allowed."""
        for kind in kinds:
            if (kind, dtype) not in self.masks:
                self.masks[kind, dtype] = [_additive(m, dtype) for m in document_masks(self, (kind,))[kind]]
        return {kind: self.masks[kind, dtype] for kind in kinds}


def attend_dense(qkv: Tensor, plan: DensePlan, pattern: Pattern, dropout: float = 0.0) -> Tensor:
    """See ``attend``."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        mask = None if mask is None else mask[None, None]
        batch = (query[None], key[None], value[None])
        return F.scaled_dot_product_attention(*batch, attn_mask=mask, dropout_p=dropout)[0]

    return attend_documents(qkv, plan, pattern, plan.masks_for(pattern.kinds, qkv.dtype), attend)


def _additive(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    if mask is None:
        return None
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -torch.inf)
