"""The reference: scores, mask, softmax, values, written out; any device, any dtype, dropout, probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.pattern import Kind, Pattern, allowed
from mate_cli.attention.plan import DocumentPlan
from mate_cli.attention.shape import FILLER

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class EagerPlan(DocumentPlan):
    backend: ClassVar[str] = "eager"


def attend_eager(qkv: Tensor, plan: EagerPlan, pattern: Pattern, dropout: float = 0.0) -> Tensor:
    """See ``attend``; ``dropout`` falls on the attention probabilities, as in BERT."""
    masks = document_masks(plan, pattern.kinds)

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return F.dropout(probabilities(query, key, mask), dropout) @ value

    return attend_documents(qkv, plan, pattern, masks, attend)


def eager_probabilities(qkv: Tensor, plan: EagerPlan, pattern: Pattern) -> list[Tensor]:
    """The attention of each document, ``[heads, n, n]``, queries before keys."""
    masks = document_masks(plan, pattern.kinds)
    return [
        torch.cat(
            [
                probabilities(query, key, masks[kind][number])
                for kind, (query, key, _) in zip(pattern.kinds, split_groups(piece, pattern), strict=True)
            ]
        )
        for number, piece in enumerate(_documents(qkv, plan))
    ]


def probabilities(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(query key^T / sqrt(head_dim)) over the allowed keys; ``[heads, n, head_dim]`` to ``[heads, n, n]``."""
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1)


def attend_documents(
    qkv: Tensor, plan: DocumentPlan, pattern: Pattern, masks: dict[Kind, list[Tensor | None]], attend: Attend
) -> Tensor:
    """Run ``attend`` on each head group of each document and put the results together; padding gets zeros."""
    hidden = qkv.shape[1] // 3
    outputs, number = [], 0
    for piece, is_document in zip(qkv.split(plan.pieces), plan.is_document, strict=True):
        if not is_document:
            outputs.append(piece.new_zeros(len(piece), hidden))
            continue
        groups = zip(pattern.kinds, split_groups(piece, pattern), strict=True)
        heads = [attend(*group, masks[kind][number]).transpose(0, 1).flatten(1) for kind, group in groups]
        outputs.append(torch.cat(heads, 1) if len(heads) > 1 else heads[0])
        number += 1
    return torch.cat(outputs)


def document_masks(plan: DocumentPlan, kinds: tuple[Kind, ...]) -> dict[Kind, list[Tensor | None]]:
    """``allowed`` of every document by kind, bool ``[n, n]``; None where everything is.

    Filler is a key of filler alone.
    """
    ids = [plan.row.split(plan.pieces), plan.column.split(plan.pieces), plan.segment.split(plan.pieces)]
    own = [parts for *parts, is_document in zip(*ids, plan.is_document, strict=True) if is_document]
    if plan.filled_up:
        return {kind: [allowed(kind, *parts) & _beside_filler(parts[0]) for parts in own] for kind in kinds}
    return {kind: [None if kind == "full" else allowed(kind, *parts) for parts in own] for kind in kinds}


def _beside_filler(row: Tensor) -> Tensor:
    is_filler = row == FILLER
    return is_filler[:, None] | ~is_filler[None]


def split_groups(qkv: Tensor, pattern: Pattern) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Query, key and value of each head group, each ``[heads, n, head_dim]``."""
    head_dim = qkv.shape[1] // (3 * pattern.heads)
    widths = [3 * group.heads * head_dim for group in pattern.groups]
    for group, part in zip(pattern.groups, qkv.split(widths, dim=1), strict=True):
        query, key, value = part.unflatten(1, (3, group.heads, head_dim)).permute(1, 2, 0, 3)
        yield query, key, value


def _documents(qkv: Tensor, plan: DocumentPlan) -> list[Tensor]:
    return [p for p, is_document in zip(qkv.split(plan.pieces), plan.is_document, strict=True) if is_document]
