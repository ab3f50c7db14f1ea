"""Exact sparse attention for CUDA by flash kernels over sequences of varying length.

A line is a sequence, so nothing is padded. Table tokens attend to their line and to the question in two calls, whose
results are merged by their log-sum-exp; the question attends to its document in a third. The kernel's backward pass,
given the merged output and log-sum-exp, yields the exact gradient of each part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mate_cli.attention.pattern import Kind, Pattern, split_groups
from mate_cli.attention.plan import Layout, Plan, run_lengths, run_starts, sort_by_line
from mate_cli.system.errors import UserError


class KeyPart(NamedTuple):
    """One kernel call: sequences of queries against sequences of keys."""

    key_index: Tensor  # int64 [keys]
    query_starts: Tensor  # int32 [sequences + 1]
    key_starts: Tensor  # int32 [sequences + 1]
    longest_query: int
    longest_key: int


class QueryGroup(NamedTuple):
    """Queries and the parts with their keys; no key of a query is in two parts."""

    query_index: Tensor  # int64 [queries]
    parts: tuple[KeyPart, ...]


@dataclass(frozen=True)
class VarlenPlan(Plan):
    """
    Attributes:
        kinds: kinds of head; query_groups: of each kind, with every real token a query of one group.
    """

    backend: ClassVar[str] = "varlen"
    kinds: tuple[Kind, ...]
    query_groups: tuple[tuple[QueryGroup, ...], ...]


def varlen_plan(layout: Layout, kinds: tuple[Kind, ...]) -> VarlenPlan:
    """Plan the kernel calls of every kind of head.

    Raises:
        UserError: a kind is ``row_or_column``.
        ValueError: a document has no question token; the kernel cannot merge an empty part.
    """
    spans = layout.spans()
    real = np.flatnonzero(layout.document >= 0)
    question = real[layout.segment[real] == 0]
    if len(np.unique(layout.document[question])) < len(spans):
        raise ValueError("a document has no question")
    query_groups = {kind: tuple(_query_groups(kind, layout, real, question, len(spans))) for kind in set(kinds)}
    return VarlenPlan(layout.place(), kinds, tuple(query_groups[kind] for kind in kinds))


def attend_varlen(qkv: Tensor, plan: VarlenPlan, pattern: Pattern) -> Tensor:
    """See ``attend``; the kernel needs bf16 or fp16."""
    query_groups = dict(zip(plan.kinds, plan.query_groups, strict=True))
    return torch.cat([_VarlenAttention.apply(rows, query_groups[kind]) for kind, rows in split_groups(qkv, pattern)], 1)


class _VarlenAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, query_groups: tuple[QueryGroup, ...]) -> Tensor:
        output = rows.new_zeros(len(rows), *rows.shape[2:])
        log_sums = []
        for group in query_groups:
            states, log_sum = _forward(rows, group)
            output.index_copy_(0, group.query_index, states)
            log_sums.append(log_sum)
        ctx.query_groups = query_groups
        ctx.save_for_backward(rows, output, *log_sums)
        return output.flatten(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        rows, output, *log_sums = ctx.saved_tensors
        grad_output = gradients[0].unflatten(1, output.shape[1:])
        # Question gradients are sums over many lines: bf16 would lose digits.
        grad = torch.zeros_like(rows, dtype=torch.promote_types(rows.dtype, torch.float32))
        for group, log_sum in zip(ctx.query_groups, log_sums, strict=True):
            _backward(rows, output, grad_output, log_sum, group, grad)
        return grad.to(rows.dtype), None


def _forward(rows: Tensor, group: QueryGroup) -> tuple[Tensor, Tensor]:
    """Return output ``[queries, heads, head_dim]`` and log-sum-exp ``[heads, queries]`` over all parts."""
    query = rows[:, 0].index_select(0, group.query_index)
    results = [kernel_forward(query, *_keys(rows, part), part) for part in group.parts]
    if len(results) == 1:
        return results[0]
    log_sum = torch.stack([of_part for _, of_part in results]).logsumexp(0)
    merged = torch.stack([states * (of_part - log_sum).exp().T[..., None] for states, of_part in results]).sum(0)
    return merged.to(rows.dtype), log_sum


def _backward(
    rows: Tensor, output: Tensor, grad_output: Tensor, log_sum: Tensor, group: QueryGroup, grad: Tensor
) -> None:
    """Add the gradients from the queries of a group to ``grad``, ``[tokens, 3, heads, head_dim]``."""
    query, states, grad_states = (x.index_select(0, group.query_index) for x in (rows[:, 0], output, grad_output))
    for part in group.parts:
        key, value = _keys(rows, part)
        grads = kernel_backward(grad_states, query, key, value, states, log_sum, part)
        indices = (group.query_index, part.key_index, part.key_index)
        for number, (index, gradient) in enumerate(zip(indices, grads, strict=True)):
            grad[:, number].index_add_(0, index, gradient.to(grad.dtype))


def kernel_forward(query: Tensor, key: Tensor, value: Tensor, part: KeyPart) -> tuple[Tensor, Tensor]:
    """Run flash attention on ``[n, heads, head_dim]`` by sequence: output and log-sum-exp ``[heads, queries]``."""
    output, log_sum, *_ = torch.ops.aten._flash_attention_forward(query, key, value, *part[1:], 0.0, False, False)
    return output, log_sum


def kernel_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, output: Tensor, log_sum: Tensor, part: KeyPart
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of query, key and value for this part of the keys."""
    state = torch.zeros(2, dtype=torch.uint64, device=query.device)  # random state of the dropout, unused
    return torch.ops.aten._flash_attention_backward(
        grad, query, key, value, output, log_sum, *part[1:], 0.0, False, state, state
    )


def _keys(rows: Tensor, part: KeyPart) -> tuple[Tensor, Tensor]:
    chosen = rows[:, 1:].index_select(0, part.key_index)
    return chosen[:, 0], chosen[:, 1]


def _query_groups(
    kind: Kind, layout: Layout, real: np.ndarray, question: np.ndarray, documents: int
) -> Iterator[QueryGroup]:
    if kind == "row_or_column":
        raise UserError("model.attention.backend=varlen cannot do 'row_or_column' heads; take flex or dense")

    def by_document(tokens: np.ndarray) -> np.ndarray:
        return np.bincount(layout.document[tokens], minlength=documents)

    if kind == "full":
        yield QueryGroup(torch.from_numpy(real), (_part(real, by_document(real), by_document(real)),))
        return
    order = sort_by_line(kind, layout)
    tokens = order.tokens[~order.is_question[order.tokens]]
    if len(tokens):
        lines = run_lengths(run_starts(layout.document[tokens], order.line[tokens]), len(tokens))
        parts = _part(tokens, lines, lines), _part(question, by_document(tokens), by_document(question))
        yield QueryGroup(torch.from_numpy(tokens), parts)
    yield QueryGroup(torch.from_numpy(question), (_part(real, by_document(question), by_document(real)),))


def _part(keys: np.ndarray, query_lengths: np.ndarray, key_lengths: np.ndarray) -> KeyPart:
    query_starts, key_starts = (
        torch.from_numpy(np.r_[0, np.cumsum(lengths)].astype(np.int32)) for lengths in (query_lengths, key_lengths)
    )
    longest = int(query_lengths.max(initial=0)), int(key_lengths.max(initial=0))
    return KeyPart(torch.from_numpy(keys), query_starts, key_starts, *longest)
