"""Reference backend: scores, mask, softmax, values, written out; any device, any dtype, dropout, probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mate_cli.attention.dropout import Dropout, split_heads
from mate_cli.attention.kernel import at_least_float
from mate_cli.attention.pattern import Kind, Pattern, allowed, split_groups
from mate_cli.attention.plan import FILLER, DocumentPlan

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, Dropout | None], Tensor]
"""Maps query, key, value ``[heads, n, head_dim]``, mask ``[n, n]`` and dropout ``[heads, n]`` of a document to
``[heads, n, head_dim]``."""


@dataclass(frozen=True)
class EagerPlan(DocumentPlan):
    backend: ClassVar[str] = "eager"


def attend_eager(qkv: Tensor, plan: EagerPlan, pattern: Pattern, dropout: Dropout | None = None) -> Tensor:
    """See ``attend``; ``dropout`` applies to the attention probabilities, as in BERT."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: Dropout | None) -> Tensor:
        weights = probabilities(query, key, mask)
        with torch.autocast(query.device.type, enabled=False):
            dropped = weights if dropout is None else weights * dropout.kept(weights.dtype)
            return (dropped @ value.to(weights.dtype)).to(query.dtype)

    return attend_documents(qkv, plan, pattern, document_masks(plan, pattern.kinds), attend, dropout)


def eager_probabilities(qkv: Tensor, plan: EagerPlan, pattern: Pattern) -> list[Tensor]:
    """Return the attention probabilities of each document, ``[heads, n, n]``, queries before keys, at least fp32."""
    masks = document_masks(plan, pattern.kinds)
    pieces = zip(qkv.split(plan.pieces), plan.is_document, strict=True)
    documents = [piece for piece, is_document in pieces if is_document]
    return [
        torch.cat(
            [probabilities(*_by_head(rows)[:2], masks[kind][n]) for kind, rows in split_groups(document, pattern)]
        )
        for n, document in enumerate(documents)
    ]


def probabilities(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """Return softmax(query key^T / sqrt(head_dim)) over the allowed keys, ``[heads, n, n]`` (paper section 3).

    In at least fp32, whatever the inputs: as the reference, it has to be no worse than the other backends in bf16.
    """
    precision = at_least_float(query)
    with torch.autocast(query.device.type, enabled=False):
        scores = query.to(precision) @ key.to(precision).transpose(-1, -2) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(-1)


def attend_documents(
    qkv: Tensor,
    plan: DocumentPlan,
    pattern: Pattern,
    masks: dict[Kind, list[Tensor | None]],
    attend: Attend,
    dropout: Dropout | None = None,
) -> Tensor:
    """Run ``attend`` on each head group of each document and concatenate the results; padding gets zeros."""
    hidden = qkv.shape[1] // 3
    outputs, number, start = [], 0, 0
    for piece, is_document in zip(qkv.split(plan.pieces), plan.is_document, strict=True):
        end = start + len(piece)
        if is_document:
            drops = dropout and dropout.of_tokens(slice(start, end))
            heads = [
                attend(*_by_head(rows), masks[kind][number], dropped)
                for kind, rows, dropped in split_heads(piece, pattern, drops)
            ]
            by_token = [states.transpose(0, 1).flatten(1) for states in heads]
            outputs.append(torch.cat(by_token, 1) if len(by_token) > 1 else by_token[0])
            number += 1
        else:
            outputs.append(piece.new_zeros(len(piece), hidden))
        start = end
    return torch.cat(outputs)


def document_masks(plan: DocumentPlan, kinds: tuple[Kind, ...]) -> dict[Kind, list[Tensor | None]]:
    """Return the mask of every document by kind, bool ``[n, n]``; None if all pairs attend.

    Filler is a key of filler alone.
    """
    ids = [plan.row.split(plan.pieces), plan.column.split(plan.pieces), plan.segment.split(plan.pieces)]
    documents = [parts for *parts, is_document in zip(*ids, plan.is_document, strict=True) if is_document]
    if not plan.has_filler:
        return {kind: [None if kind == "full" else allowed(kind, *parts) for parts in documents] for kind in kinds}
    fillers = [row == FILLER for row, _, _ in documents]
    open_pairs = [is_filler[:, None] | ~is_filler[None] for is_filler in fillers]
    return {
        kind: [allowed(kind, *parts) & pairs for parts, pairs in zip(documents, open_pairs, strict=True)]
        for kind in kinds
    }


def _by_head(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split ``[n, 3, heads, head_dim]`` into query, key and value, ``[heads, n, head_dim]`` each."""
    query, key, value = rows.permute(1, 2, 0, 3)
    return query, key, value
