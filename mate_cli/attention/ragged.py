"""Exact sparse attention on the CPU: every line (row or column) is a small dense block.

A line's tokens attend to the question of their document and to the line itself, so a head group needs
``sum L * (L + G)`` pairs and not ``N * N``. Lines of similar length are put into one class, padded to its longest
and computed by one call of PyTorch's flash kernel; the question's own queries take one call a document. The
backward pass keeps nothing but input, output and log-sum-exp and gathers the blocks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.classes import length_classes
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import Layout, Plan
from mate_cli.errors import UserError

# The kernel's softmax works on whole vectors: a key count that is no multiple is up to 1.6 times slower.
_KEY_MULTIPLE = 16

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


class LineClass(NamedTuple):
    """Lines of similar length as one block of ``lines`` x ``queries`` x ``keys``.

    The keys of a line are the question of its document (``question`` places, some perhaps empty), then the line
    itself, then padding.
    """

    lines: int
    queries: int
    keys: int
    question: int
    key_index: Tensor  # int64 [lines * keys]: token behind each key place; any token where it is empty
    query_target: Tensor  # int64 [lines * queries]: token behind each query; one past the last where empty
    is_query: Tensor | None  # bool [lines * queries, 1]; None: all are
    key_bias: Tensor | None  # float [lines, 1, 1, keys], 0 or -inf; None: all keys count
    document: Tensor  # int64 [lines]


class GroupPlan(NamedTuple):
    """The line classes of one kind of head."""

    classes: tuple[LineClass, ...]
    has_question_queries: bool


@dataclass(frozen=True)
class RaggedPlan(Plan):
    """
    Attributes:
        kinds: what ``groups`` are the plans of.
        spans: first token and end of each document.
        questions: first token and end of each document's question.
        question_index: int64 ``[documents * G]``: question tokens, padded with one past the last token.
        has_padding: whether some tokens belong to no document.
    """

    backend: ClassVar[str] = "ragged"
    kinds: tuple[Kind, ...]
    groups: tuple[GroupPlan, ...]
    spans: tuple[tuple[int, int], ...]
    questions: tuple[tuple[int, int], ...]
    question_index: Tensor
    has_padding: bool


def ragged_plan(layout: Layout, kinds: tuple[Kind, ...]) -> RaggedPlan:
    """Plan the lines of every kind of head.

    Raises:
        UserError: a kind whose keys are no line.
        ValueError: a question is not one run of tokens.
    """
    spans = layout.spans()
    questions = _question_spans(layout, spans)
    places = _question_places(questions, len(layout.document))
    groups = {kind: _group_plan(kind, layout, spans, questions, places) for kind in set(kinds)}
    return RaggedPlan(
        len(layout.document),
        kinds,
        tuple(groups[kind] for kind in kinds),
        tuple(map(tuple, spans.tolist())),
        tuple(map(tuple, questions.tolist())),
        torch.from_numpy(places.reshape(-1)),
        bool((layout.document < 0).any()),
    )


def attend_ragged(qkv: Tensor, plan: RaggedPlan, pattern: Pattern, dropout: float = 0.0) -> Tensor:
    """See ``attend``.

    Raises:
        ValueError: dropout is asked for; only ``eager`` has it.
    """
    if dropout:
        raise ValueError("ragged has no attention dropout")
    if torch.is_grad_enabled() and qkv.requires_grad:
        return _RaggedAttention.apply(qkv, plan, pattern)
    return _forward(qkv, plan, pattern, None)


# --- the plan ---------------------------------------------------------------------------------------------------


def _question_spans(layout: Layout, spans: np.ndarray) -> np.ndarray:
    """First token and end of each document's question, ``[documents, 2]``."""
    is_question = np.r_[0, np.cumsum(layout.segment == 0)]
    lengths = is_question[spans[:, 1]] - is_question[spans[:, 0]]
    ends = spans[:, 0] + lengths
    if (is_question[ends] - is_question[spans[:, 0]] != lengths).any():
        raise ValueError("a question does not stand at the start of its document")
    return np.stack([spans[:, 0], ends], axis=1)


def _question_places(questions: np.ndarray, tokens: int) -> np.ndarray:
    """Question tokens of each document padded to the longest, int64 ``[documents, G]``; ``tokens`` where empty."""
    lengths = questions[:, 1] - questions[:, 0]
    offset = np.arange(lengths.max(initial=0))
    return np.where(offset < lengths[:, None], questions[:, :1] + offset, tokens)


def _group_plan(kind: Kind, layout: Layout, spans: np.ndarray, questions: np.ndarray, places: np.ndarray) -> GroupPlan:
    if kind == "full":
        # A document is one line, question and all.
        order = np.flatnonzero(layout.document >= 0)
        starts, places = np.searchsorted(order, spans[:, 0]), places[:, :0]
    else:
        order, starts = _lines(kind, layout)
    lengths = np.diff(np.r_[starts, len(order)])
    document = layout.document[order[starts]] if len(starts) else np.zeros(0, np.int64)
    by_length = np.argsort(-lengths, kind="stable")
    classes = tuple(
        _line_class(by_length[first:end], order, starts, lengths, document, places, len(layout.document))
        for first, end in length_classes(lengths[by_length], places.shape[1], _KEY_MULTIPLE)
    )
    return GroupPlan(classes, kind != "full")


def _lines(kind: Kind, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Table tokens sorted by document and line, and where in that order each line starts."""
    if kind not in ("row", "column"):
        raise UserError(f"model.attention.backend=ragged cannot do {kind!r} heads; take dense")
    number = layout.row if kind == "row" else layout.column
    tokens = np.flatnonzero((layout.segment != 0) & (layout.document >= 0))
    order = tokens[np.lexsort((number[tokens], layout.document[tokens]))]
    line = np.stack([layout.document[order], number[order]])
    new = np.r_[True, (np.diff(line) != 0).any(axis=0)] if len(order) else np.zeros(0, bool)
    return order, np.flatnonzero(new)


def _line_class(
    chosen: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    document: np.ndarray,
    places: np.ndarray,
    tokens: int,
) -> LineClass:
    # Lines of one document next to each other: their question gradients are summed document by document.
    chosen = chosen[np.argsort(document[chosen], kind="stable")]
    lines, queries, question = len(chosen), int(lengths[chosen].max()), places.shape[1]
    keys = -(-(question + queries) // _KEY_MULTIPLE) * _KEY_MULTIPLE
    offset = np.arange(queries)
    is_own = offset < lengths[chosen, None]
    own = order[np.where(is_own, starts[chosen, None] + offset, starts[chosen, None])]
    key_index = np.repeat(own[:, :1], keys, axis=1)
    is_key = np.zeros((lines, keys), bool)
    asked = places[document[chosen]]
    is_key[:, :question] = asked < tokens
    key_index[:, :question] = np.where(asked < tokens, asked, own[:, :1])
    key_index[:, question : question + queries] = own
    is_key[:, question : question + queries] = is_own
    bias = None
    if not is_key.all():
        bias = torch.zeros(lines, 1, 1, keys).masked_fill_(~torch.from_numpy(is_key)[:, None, None], -torch.inf)
    return LineClass(
        lines,
        queries,
        keys,
        question,
        torch.from_numpy(key_index.reshape(-1)),
        torch.from_numpy(np.where(is_own, own, tokens).reshape(-1)),
        None if is_own.all() else torch.from_numpy(is_own.reshape(-1, 1)),
        bias,
        torch.from_numpy(document[chosen].astype(np.int64)),
    )


# --- forward and backward ---------------------------------------------------------------------------------------


def _forward(qkv: Tensor, plan: RaggedPlan, pattern: Pattern, log_sums: list[Tensor] | None) -> Tensor:
    """Output ``[tokens, hidden]``; appends the log-sum-exp of every kernel call to ``log_sums``.

    The buffer has one row more than there are tokens: it takes what empty query places give.
    """
    hidden = qkv.shape[1] // 3
    blank = qkv.new_zeros if plan.has_padding else qkv.new_empty
    output = blank(plan.tokens + 1, hidden)
    for group, heads, part, out in _groups(plan, pattern, qkv, output):
        for lines in group.classes:
            query, key, value = _gather(part, lines, heads)
            states, log_sum = _flash(query, key, value, attn_mask=_bias(lines, qkv.dtype))
            out.index_copy_(0, lines.query_target, states.transpose(1, 2).reshape(-1, out.shape[1]))
            _keep(log_sums, log_sum)
        for query, key, value, target in _question_blocks(plan, group, heads, part, out):
            states, log_sum = _flash(query, key, value)
            target.copy_(states.transpose(1, 2))
            _keep(log_sums, log_sum)
    return output[: plan.tokens]


class _RaggedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, plan: RaggedPlan, pattern: Pattern) -> Tensor:
        log_sums: list[Tensor] = []
        output = _forward(qkv, plan, pattern, log_sums)
        ctx.plan, ctx.pattern = plan, pattern
        ctx.save_for_backward(qkv, output, *log_sums)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        qkv, output, *log_sums = ctx.saved_tensors
        plan: RaggedPlan = ctx.plan
        grad_output = gradients[0].contiguous()
        blank = qkv.new_zeros if plan.has_padding else qkv.new_empty
        grad = blank(plan.tokens + 1, qkv.shape[1])
        remaining = iter(log_sums)
        parts = zip(
            _groups(plan, ctx.pattern, qkv, output),
            _groups(plan, ctx.pattern, grad, grad_output),
            strict=True,
        )
        for (group, heads, part, out), (_, _, grad_part, grad_out) in parts:
            _backward_group(plan, group, heads, part, out, grad_part, grad_out, remaining)
        return grad[: plan.tokens], None, None


def _backward_group(
    plan: RaggedPlan,
    group: GroupPlan,
    heads: int,
    part: Tensor,
    out: Tensor,
    grad_part: Tensor,
    grad_out: Tensor,
    log_sums: Iterator[Tensor],
) -> None:
    """Fill ``grad_part`` ``[tokens + 1, 3 * heads * head_dim]`` of one head group."""
    width = out.shape[1]
    of_question = part.new_zeros(
        len(plan.spans),
        len(plan.question_index) // max(1, len(plan.spans)),
        2 * width,
        dtype=_at_least_float(part),
    )
    for lines in group.classes:
        query, key, value = _gather(part, lines, heads)
        grad_states, states = (_gather_queries(x, lines, heads) for x in (grad_out, out))
        log_sum = next(log_sums)
        grads = _block_backward(grad_states, query, key, value, states, log_sum, lines.key_bias)
        grad_query, grad_key, grad_value = (g.transpose(1, 2).flatten(2) for g in grads)
        own = slice(lines.question, lines.question + lines.queries)
        rows = torch.cat([grad_query, grad_key[:, own], grad_value[:, own]], 2).view(-1, 3 * width)
        grad_part.index_copy_(0, lines.query_target, rows.to(part.dtype))
        if lines.question:
            asked = slice(0, lines.question)
            added = torch.cat([grad_key[:, asked], grad_value[:, asked]], 2)
            of_question.index_add_(0, lines.document, added.to(of_question.dtype))
    if group.has_question_queries:
        # A question token is in no line; its row is started here and added to below.
        rows = torch.cat([torch.zeros_like(of_question[..., :width]), of_question], 2).view(-1, 3 * width)
        grad_part.index_copy_(0, plan.question_index, rows.to(part.dtype))
    blocks = _question_blocks(plan, group, heads, part, out)
    grad_blocks = _question_blocks(plan, group, heads, grad_part, grad_out)
    for (query, key, value, states), (to_query, to_key, to_value, grad_states) in zip(blocks, grad_blocks, strict=True):
        grads = _block_backward(
            grad_states.transpose(1, 2), query, key, value, states.transpose(1, 2), next(log_sums), None
        )
        for target, grad in zip((to_query, to_key, to_value), grads, strict=True):
            target.add_(grad)


def _block_backward(
    grad_states: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    states: Tensor,
    log_sum: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, ...]:
    """Gradients of query, key and value, each ``[blocks, heads, n, head_dim]``.

    In bf16 the fused kernel takes several times as long as its matrix products written out, which need the
    probabilities in memory: of short lines those are few.
    """
    if query.dtype == torch.bfloat16:
        return _written_out_backward(grad_states, query, key, value, states, log_sum, bias)
    bias = None if bias is None else bias.to(query.dtype)
    return _flash_backward(grad_states, query, key, value, states, log_sum, 0.0, False, attn_mask=bias)


def _written_out_backward(
    grad_states: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    states: Tensor,
    log_sum: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    scale = query.shape[-1] ** -0.5
    lost = (grad_states * states).sum(-1, keepdim=True)
    query, key, value, grad_states = (x.contiguous() for x in (query * scale, key, value, grad_states))
    scores = query @ key.transpose(-1, -2)
    if bias is not None:
        scores += bias.to(scores.dtype)
    probabilities = scores.sub_(log_sum[..., None]).exp_()
    grad_scores = (grad_states @ value.transpose(-1, -2)).sub_(lost).mul_(probabilities)
    grad_query = (grad_scores @ key).mul_(scale)
    return grad_query, grad_scores.transpose(-1, -2) @ query, probabilities.transpose(-1, -2) @ grad_states


def _groups(
    plan: RaggedPlan, pattern: Pattern, qkv: Tensor, output: Tensor
) -> Iterator[tuple[GroupPlan, int, Tensor, Tensor]]:
    """Plan, heads and the columns of ``qkv`` and ``output`` of each head group."""
    first, head_dim = 0, output.shape[1] // pattern.heads
    for group in pattern.groups:
        end = first + group.heads * head_dim
        own = plan.groups[plan.kinds.index(group.kind)]
        yield own, group.heads, qkv[:, 3 * first : 3 * end], output[:, first:end]
        first = end


def _gather(part: Tensor, lines: LineClass, heads: int) -> Iterator[Tensor]:
    """Query, key and value of a line class, each ``[lines, heads, n, head_dim]``, views of one gathered block."""
    block = part.index_select(0, lines.key_index).view(lines.lines, lines.keys, 3, heads, -1)
    query, key, value = block.permute(2, 0, 3, 1, 4)
    yield query[:, :, lines.question : lines.question + lines.queries]
    yield key
    yield value


def _gather_queries(rows: Tensor, lines: LineClass, heads: int) -> Tensor:
    """Rows of the queries of a line class, ``[lines, heads, queries, head_dim]``; zero where a place is empty."""
    block = rows.index_select(0, lines.query_target.clamp(max=len(rows) - 1))
    if lines.is_query is not None:
        block = block * lines.is_query
    return block.view(lines.lines, lines.queries, heads, -1).transpose(1, 2)


def _question_blocks(
    plan: RaggedPlan, group: GroupPlan, heads: int, part: Tensor, out: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Each document's question against the whole document.

    Query ``[1, heads, question, head_dim]``, key and value ``[1, heads, n, head_dim]``, and the question's place
    in ``out``, ``[1, question, heads, head_dim]``; all of them views.
    """
    if not group.has_question_queries:
        return
    for (start, end), (first, last) in zip(plan.spans, plan.questions, strict=True):
        if last > first:
            query, key, value = part[start:end].view(1, end - start, 3, heads, -1).permute(2, 0, 3, 1, 4)
            yield query[:, :, : last - first], key, value, out[None, first:last].unflatten(2, (heads, -1))


def _bias(lines: LineClass, dtype: torch.dtype) -> Tensor | None:
    return None if lines.key_bias is None else lines.key_bias.to(dtype)


def _keep(log_sums: list[Tensor] | None, log_sum: Tensor) -> None:
    if log_sums is not None:
        log_sums.append(log_sum)


def _at_least_float(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)
