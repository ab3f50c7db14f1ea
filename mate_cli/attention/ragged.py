"""Exact sparse attention on the CPU: every line (row or column) is a small dense block.

The tokens of a line attend to the line and to the question of their document, so a head needs ``sum L * (L + G)``
pairs, about N^2 / lines for N tokens in lines of equal length: a table of one column costs column heads N^2. Memory is
linear in N. Lines of similar length make a class, padded to its longest and computed by one call of PyTorch's flash
kernel; the question's queries take one call per document, as do heads that see all. Where copying the question to every
line would cost more, the table attends to it in one more call per document, and the two results are merged by their
log-sum-exp.
The backward pass keeps input, output and log-sum-exp alone and gathers the blocks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mate_cli.attention.dropout import Dropout, attend_dropping, split_heads
from mate_cli.attention.kernel import at_least_float, kernel_precision
from mate_cli.attention.lines import DenseBlock, GroupPlan, LineClass, RaggedPlan
from mate_cli.attention.pattern import Pattern

# Pairs of all heads that dropout computes at once: more leave the processor's cache.
_DROPPING_PAIRS = 1 << 22

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def attend_ragged(qkv: Tensor, plan: RaggedPlan, pattern: Pattern, dropout: Dropout | None = None) -> Tensor:
    """See ``attend``."""
    if dropout is not None:
        return _attend_dropping(qkv, plan, pattern, dropout)
    qkv = qkv.contiguous()  # the kernel needs it
    if torch.is_grad_enabled() and qkv.requires_grad:
        return _RaggedAttention.apply(qkv, plan, pattern)
    return _forward(qkv, plan, pattern)[0]


class _RaggedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, plan: RaggedPlan, pattern: Pattern) -> Tensor:
        output, log_sums = _forward(qkv, plan, pattern)
        ctx.plan, ctx.pattern = plan, pattern
        ctx.save_for_backward(qkv, output, *log_sums)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        qkv, output, *log_sums = ctx.saved_tensors
        grad_output = gradients[0].contiguous()
        return _backward(qkv, output, grad_output, log_sums, ctx.plan, ctx.pattern), None, None


_Part = tuple[Tensor, Tensor, Tensor]
"""Places of queries int64 ``[n]``, their states ``[n, heads, head_dim]`` and log-sum-exp ``[n, heads]``."""


class _Group(NamedTuple):
    """A head group's plan and its columns of ``[tokens, 3 * hidden]`` and ``[tokens, hidden]``."""

    plan: GroupPlan
    heads: int
    qkv: Tensor
    output: Tensor


def _forward(qkv: Tensor, plan: RaggedPlan, pattern: Pattern) -> tuple[Tensor, list[Tensor]]:
    """Return output ``[tokens, hidden]`` and log-sum-exp of every kernel call, in the order of ``_backward``."""
    output = _blank(plan, qkv, qkv.shape[1] // 3)
    log_sums: list[Tensor] = []
    for group in _groups(plan, pattern, qkv, output):
        of_lines = []
        for lines in group.plan.classes:
            query, key, value = _line_inputs(group, lines, qkv.dtype)
            states, log_sum = _flash(query, key, value, attn_mask=_bias(lines, query))
            group.output.index_copy_(0, lines.query_target, states.transpose(1, 2).flatten(0, 1).flatten(1))
            of_lines.append(log_sum)
        log_sums += of_lines if not group.plan.merged else _merge_questions(group, of_lines)
        for block in group.plan.dense:
            query, key, value, target = _dense_views(group, block)
            states, log_sum = _flash(query, key, value)
            target.copy_(states)
            log_sums.append(log_sum)
    return output[: plan.tokens], log_sums


def _merge_questions(group: _Group, of_lines: list[Tensor]) -> list[Tensor]:
    """Merge the question's results into those of the lines; return the log-sum-exp of classes and merged blocks."""
    log_sum = of_lines[0].new_zeros(len(group.output), group.heads)
    for lines, of_class in zip(group.plan.classes, of_lines, strict=True):
        if not lines.question:
            log_sum.index_copy_(0, lines.query_target, of_class.transpose(1, 2).flatten(0, 1))
    for block in group.plan.merged:
        query, key, value, target = _dense_views(group, block)
        states, of_question = _flash(query, key, value)
        of_table = log_sum[None, block.query_start : block.query_end].transpose(1, 2)
        both = torch.logaddexp(of_table, of_question)
        kept, taken = ((part - both).exp().unsqueeze(-1) for part in (of_table, of_question))
        target.copy_(target * kept + states * taken)
        of_table.copy_(both)
    classes = [
        of_class
        if lines.question
        else log_sum.index_select(0, lines.query_index).view(lines.lines, lines.queries, -1).transpose(1, 2)
        for lines, of_class in zip(group.plan.classes, of_lines, strict=True)
    ]
    blocks = [log_sum[None, block.query_start : block.query_end].transpose(1, 2) for block in group.plan.merged]
    return [part.contiguous() for part in (*classes, *blocks)]


def _backward(
    qkv: Tensor, output: Tensor, grad_output: Tensor, log_sums: list[Tensor], plan: RaggedPlan, pattern: Pattern
) -> Tensor:
    """Return the gradient of ``qkv``."""
    grad = _blank(plan, qkv, qkv.shape[1])
    forward, backward = _groups(plan, pattern, qkv, output), _groups(plan, pattern, grad, grad_output)
    remaining = iter(log_sums)
    for group, grad_group in zip(forward, backward, strict=True):
        if group.plan.classes:
            of_question = _backward_lines(group, grad_group, remaining, plan)
            # A question token is in no line: its row is set here, and the dense blocks add to it.
            grad_group.qkv.index_copy_(0, plan.question_index.flatten(), of_question)
        for block in (*group.plan.merged, *group.plan.dense):
            _backward_dense(block, group, grad_group, next(remaining))
    return grad[: plan.tokens]


def _backward_lines(group: _Group, grad: _Group, log_sums: Iterator[Tensor], plan: RaggedPlan) -> Tensor:
    """Set the rows of table tokens in ``grad.qkv``; return those of the questions, ``[documents * G, 3 * width]``."""
    width = group.output.shape[1]
    of_question = grad.qkv.new_zeros(*plan.question_index.shape, 3 * width, dtype=at_least_float(group.qkv))
    for lines in group.plan.classes:
        precision = kernel_precision(group.qkv, lines.queries)
        query, key, value = _line_inputs(group, lines, precision)
        states, grad_states = (_line_queries(g, lines, precision) for g in (group, grad))
        grads = _flash_backward(
            grad_states, query, key, value, states, next(log_sums), 0.0, False, attn_mask=_bias(lines, query)
        )
        in_line, question = slice(lines.question, lines.question + lines.queries), slice(0, lines.question)
        grad_query, grad_key, grad_value = (g.transpose(1, 2).flatten(2) for g in grads)
        rows = torch.cat([grad_query, grad_key[:, in_line], grad_value[:, in_line]], 2).flatten(0, 1)
        grad.qkv.index_copy_(0, lines.query_target, rows.to(grad.qkv.dtype))
        if lines.question:
            rows = torch.cat([grad_key[:, question], grad_value[:, question]], 2)
            of_question[:, : lines.question, width:].index_add_(0, lines.document, rows.to(of_question.dtype))
    return of_question.flatten(0, 1).to(grad.qkv.dtype)


def _backward_dense(block: DenseBlock, group: _Group, grad: _Group, log_sum: Tensor) -> None:
    precision = kernel_precision(group.qkv, block.query_end - block.query_start)
    query, key, value, states = (x.to(precision) for x in _dense_views(group, block))
    *targets, grad_states = _dense_views(grad, block)
    grads = _flash_backward(grad_states.to(precision), query, key, value, states, log_sum, 0.0, False)
    for target, gradient in zip(targets, grads, strict=True):
        target.add_(gradient)


def _blank(plan: RaggedPlan, like: Tensor, width: int) -> Tensor:
    """Make ``[tokens + 1, width]``: the last row takes the results of empty places; zeros if some row gets none."""
    make = like.new_zeros if plan.has_gaps else like.new_empty
    return make(plan.tokens + 1, width)


def _groups(plan: RaggedPlan, pattern: Pattern, qkv: Tensor, output: Tensor) -> Iterator[_Group]:
    first, head_dim = 0, output.shape[1] // pattern.heads
    for group in pattern.groups:
        end = first + group.heads * head_dim
        group_plan = plan.groups[plan.kinds.index(group.kind)]
        yield _Group(group_plan, group.heads, qkv[:, 3 * first : 3 * end], output[:, first:end])
        first = end


def _line_inputs(group: _Group, lines: LineClass, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return query, key and value of a class, ``[lines, heads, n, head_dim]``, views of one gathered block."""
    block = group.qkv.index_select(0, lines.key_index).to(dtype)
    query, key, value = block.view(lines.lines, lines.keys, 3, group.heads, -1).permute(2, 0, 3, 1, 4)
    return query[:, :, lines.question : lines.question + lines.queries], key, value


def _line_queries(group: _Group, lines: LineClass, dtype: torch.dtype) -> Tensor:
    """Return the output (or its gradient) of a class, ``[lines, heads, queries, head_dim]``; zero in empty places."""
    block = group.output.index_select(0, lines.query_index).to(dtype)
    if lines.is_query is not None:
        block.mul_(lines.is_query)
    return block.view(lines.lines, lines.queries, group.heads, -1).transpose(1, 2)


def _bias(lines: LineClass, like: Tensor) -> Tensor | None:
    return None if lines.key_bias is None else lines.key_bias.to(like.dtype)


def _dense_views(group: _Group, block: DenseBlock) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return views of query, key, value and output of a block, ``[1, heads, n, head_dim]`` each."""
    queries, keys = slice(block.query_start, block.query_end), slice(block.key_start, block.key_end)
    rows = group.qkv[None].unflatten(2, (3, group.heads, -1)).permute(2, 0, 3, 1, 4)
    target = group.output[None, queries].unflatten(2, (group.heads, -1)).transpose(1, 2)
    return rows[0, :, :, queries], rows[1, :, :, keys], rows[2, :, :, keys], target


def _attend_dropping(qkv: Tensor, plan: RaggedPlan, pattern: Pattern, dropout: Dropout) -> Tensor:
    """Compute with dropout; PyTorch's kernel has none for a given mask, so autograd goes through the blocks."""
    outputs = []
    for kind, rows, drops in split_heads(qkv, pattern, dropout):
        assert drops is not None
        outputs.append(_group_dropping(rows, plan.groups[plan.kinds.index(kind)], drops).flatten(1))
    return torch.cat(outputs, 1)


def _group_dropping(rows: Tensor, group: GroupPlan, dropout: Dropout) -> Tensor:
    """``[tokens, 3, heads, head_dim]`` to ``[tokens, heads, head_dim]``."""
    classes: list[_Part] = []
    for lines in group.classes:
        blocks = _dropping(rows, lines.query_index, lines.key_index, dropout, lines.lines, lines.key_bias)
        classes.append((lines.query_target, *blocks))
    output, log_sum = _scatter(rows, classes)
    if group.merged:
        of_question, question_sum = _scatter(rows, _dense_dropping(rows, group.merged, dropout), -torch.inf)
        both = torch.logaddexp(log_sum, question_sum)
        kept, taken = ((part - both).exp().unsqueeze(-1).to(rows.dtype) for part in (log_sum, question_sum))
        output = output * kept + of_question * taken
    dense = _dense_dropping(rows, group.dense, dropout)
    if dense:
        places, states, _ = zip(*dense, strict=True)
        output = output.index_copy(0, torch.cat(places), torch.cat(states))
    return output[: len(rows)]


def _dense_dropping(rows: Tensor, blocks: tuple[DenseBlock, ...], dropout: Dropout) -> list[_Part]:
    parts = []
    for block in blocks:
        query = torch.arange(block.query_start, block.query_end, device=rows.device)
        key = torch.arange(block.key_start, block.key_end, device=rows.device)
        parts.append((query, *_dropping(rows, query, key, dropout)))
    return parts


def _dropping(
    rows: Tensor, query_index: Tensor, key_index: Tensor, dropout: Dropout, blocks: int = 1, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the states ``[queries, heads, head_dim]`` of some blocks and their log-sum-exp ``[queries, heads]``."""
    pairs = len(query_index) * len(key_index) * rows.shape[2] // blocks**2
    if blocks > (at_once := max(1, _DROPPING_PAIRS // pairs)):
        queries, keys = (index.view(blocks, -1).split(at_once) for index in (query_index, key_index))
        biases = [None] * len(queries) if bias is None else bias.split(at_once)
        parts = [
            _dropping(rows, of_queries.flatten(), of_keys.flatten(), dropout, len(of_queries), of_bias)
            for of_queries, of_keys, of_bias in zip(queries, keys, biases, strict=True)
        ]
        return torch.cat([states for states, _ in parts]), torch.cat([log_sum for _, log_sum in parts])
    query, key, value = (
        rows[:, part].index_select(0, index).unflatten(0, (blocks, -1)).transpose(1, 2)
        for part, index in enumerate((query_index, key_index, key_index))
    )
    states, log_sum = attend_dropping(query, key, value, bias, dropout.of_blocks(query_index, key_index, blocks))
    return states.transpose(1, 2).flatten(0, 1), log_sum.transpose(1, 2).flatten(0, 1)


def _scatter(rows: Tensor, parts: list[_Part], empty: float = 0.0) -> tuple[Tensor, Tensor]:
    """Put parts into ``[tokens + 1, heads, head_dim]`` and ``[tokens + 1, heads]``, 0 and ``empty`` elsewhere."""
    _, _, heads, head_dim = rows.shape
    output = rows.new_zeros(len(rows) + 1, heads, head_dim)
    log_sum = rows.new_full((len(rows) + 1, heads), empty, dtype=at_least_float(rows))
    if parts:
        places, states, log_sums = (torch.cat(part) for part in zip(*parts, strict=True))
        output, log_sum = output.index_copy(0, places, states), log_sum.index_copy(0, places, log_sums)
    return output, log_sum
