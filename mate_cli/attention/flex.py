"""Exact sparse attention by PyTorch's FlexAttention: compiled kernels that skip blocks without a pair.

Each kind of head sorts its tokens by line, so that few blocks of ``BLOCK`` x ``BLOCK`` hold pairs. Which ones follows
from where lines and questions begin and end; no mask over all pairs of tokens is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, flex_attention

from mate_cli.attention.counting import is_counting
from mate_cli.attention.dropout import Dropout, is_kept, split_heads
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import Layout, Plan, ranks, run_starts, sort_by_line

BLOCK = 128


class BlockPairs(NamedTuple):
    """The key blocks of each query block: counts int32 ``[blocks]`` and block numbers int32 ``[blocks, blocks]``.

    All pairs of a ``full`` block attend; in a ``partial`` block the mask decides.
    """

    partial_count: Tensor
    partial: Tensor
    full_count: Tensor
    full: Tensor


class FlexGroup(NamedTuple):
    """One kind of head, its tokens sorted (padding last).

    ``document`` (-1 for padding), ``row``, ``column`` and ``is_question`` are those of the sorted tokens, ``[tokens]``.
    """

    order: Tensor  # int64 [tokens]
    output_index: Tensor  # int64 [tokens]: place among the sorted tokens; one past the last for padding
    document: Tensor
    row: Tensor
    column: Tensor
    is_question: Tensor
    pairs: BlockPairs


@dataclass(frozen=True)
class FlexPlan(Plan):
    """``groups`` of ``kinds``; the device makes the block masks, once for all layers."""

    backend: ClassVar[str] = "flex"
    kinds: tuple[Kind, ...]
    groups: tuple[FlexGroup, ...]
    masks: dict[int, BlockMask] = field(default_factory=dict, init=False, compare=False, repr=False)

    def mask(self, number: int) -> BlockMask:
        if number not in self.masks:
            self.masks[number] = _block_mask(self.kinds[number], self.groups[number])
        return self.masks[number]


def flex_plan(layout: Layout, kinds: tuple[Kind, ...]) -> FlexPlan:
    """Sort the tokens and find the blocks of every kind of head."""
    layout.spans()  # checks the order of the documents
    groups = {kind: _group(kind, layout) for kind in set(kinds)}
    return FlexPlan(layout.place(), kinds, tuple(groups[kind] for kind in kinds))


def attend_flex(qkv: Tensor, plan: FlexPlan, pattern: Pattern, dropout: Dropout | None = None) -> Tensor:
    """See ``attend``."""
    groups = split_heads(qkv, pattern, dropout)
    return torch.cat([_attend_group(rows, plan, plan.kinds.index(kind), drops) for kind, rows, drops in groups], 1)


def _attend_group(rows: Tensor, plan: FlexPlan, number: int, dropout: Dropout | None) -> Tensor:
    """``[tokens, 3, heads, head_dim]`` to ``[tokens, heads * head_dim]``."""
    group, mask = plan.groups[number], plan.mask(number)
    query, key, value = rows.index_select(0, group.order)[None].permute(2, 0, 3, 1, 4)
    output, log_sum = kernel(query, key, value, mask)
    if dropout is not None:
        # Of the kept pairs alone: their softmax, and the log of its sum, which says how much of the whole it is.
        output, kept_sum = kernel(query, key, value, mask, dropout.of_blocks(group.order, group.order, 1))
        output = output * ((kept_sum - log_sum).exp() / (1 - dropout.rate)).unsqueeze(-1).to(output.dtype)
    states = output[0].transpose(0, 1).flatten(1)
    return torch.cat([states, states.new_zeros(1, states.shape[1])]).index_select(0, group.output_index)


def kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: BlockMask, dropout: Dropout | None = None
) -> tuple[Tensor, Tensor]:
    """Run FlexAttention on ``[1, heads, tokens, head_dim]``; without a GPU it has no backward pass.

    Args:
        dropout: pairs to leave out of the softmax, ``[1, heads, tokens]``.

    Returns:
        ``[1, heads, tokens, head_dim]`` and the log of the softmax's sum, ``[1, heads, tokens]``.
    """
    if is_counting():
        return _CountedKernel.apply(query, key, value)
    run = _compiled() if query.is_cuda else flex_attention
    score = None if dropout is None else _score_of_kept(dropout)
    output, more = run(query, key, value, score_mod=score, block_mask=mask, return_aux=AuxRequest(lse=True))
    return output, more.lse


class _CountedKernel(torch.autograd.Function):
    """The tensors of the compiled kernel without their values; uncompiled, FlexAttention would make all scores."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        output, log_sum = torch.empty_like(query), query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, output, log_sum)
        return output, log_sum

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.empty_like(tensor) for tensor in ctx.saved_tensors[:3])


def _score_of_kept(dropout: Dropout) -> Callable[..., Tensor]:
    of_query, of_key = dropout.query, dropout.key

    def score_of_kept(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return torch.where(
            is_kept(of_query[batch, head, query], of_key[batch, head, key], dropout.threshold), score, -torch.inf
        )

    return score_of_kept


@cache
def _compiled() -> Any:
    return torch.compile(flex_attention, dynamic=True)


def _block_mask(kind: Kind, group: FlexGroup) -> BlockMask:
    document, row, column, is_question = group.document, group.row, group.column, group.is_question

    def may_attend(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        same = document[query] == document[key]
        if kind == "full":
            return same
        pair = is_question[query] | is_question[key]
        if kind in ("row", "row_or_column"):
            pair = pair | (row[query] == row[key])
        if kind in ("column", "row_or_column"):
            pair = pair | (column[query] == column[key])
        return same & pair

    partial_count, partial, full_count, full = (table[None, None] for table in group.pairs)
    lengths = (len(group.order), len(group.order))
    return BlockMask.from_kv_blocks(partial_count, partial, full_count, full, BLOCK, may_attend, seq_lengths=lengths)


def _group(kind: Kind, layout: Layout) -> FlexGroup:
    # Kinds that follow no line take the order of rows, which is the order that tokens come in.
    sorted_tokens = sort_by_line("column" if kind == "column" else "row", layout)
    order = np.r_[sorted_tokens.tokens, np.flatnonzero(layout.document < 0)]
    place = np.full(len(order), len(order))
    place[sorted_tokens.tokens] = np.arange(len(sorted_tokens.tokens))
    line = np.zeros(len(order), int) if kind in ("full", "row_or_column") else sorted_tokens.line[order]
    document, is_question = layout.document[order], layout.segment[order] == 0
    return FlexGroup(
        order=torch.from_numpy(order),
        output_index=torch.from_numpy(place),
        document=torch.from_numpy(document),
        row=torch.from_numpy(layout.row[order]),
        column=torch.from_numpy(layout.column[order]),
        is_question=torch.from_numpy(is_question),
        pairs=_block_pairs(kind, document, line, is_question),
    )


def _block_pairs(kind: Kind, document: np.ndarray, line: np.ndarray, is_question: np.ndarray) -> BlockPairs:
    """Find the blocks with pairs from arrays ``[tokens]`` sorted by document, then question first, then line."""
    blocks = -(-len(document) // BLOCK)
    codes = np.unique(np.concatenate([np.zeros(0, int), *_pair_codes(document, line, is_question, blocks)]))
    query, key = np.divmod(codes, max(blocks, 1))
    # Of row_or_column heads the mask alone knows the pairs, so no block of theirs is known to be full.
    is_full = np.zeros(len(codes), bool)
    if kind != "row_or_column":
        is_full = _is_full(query, key, document, line, is_question | (kind == "full"))
    return BlockPairs(*_table(query, key, ~is_full, blocks), *_table(query, key, is_full, blocks))


def _pair_codes(document: np.ndarray, line: np.ndarray, is_question: np.ndarray, blocks: int) -> Iterator[np.ndarray]:
    """Yield the codes query block * ``blocks`` + key block of all blocks with pairs, some more than once."""

    def codes(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return (queries[:, None] * blocks + keys).reshape(-1)

    yield np.arange(blocks) * (blocks + 1)  # the diagonal
    for start, end in _runs(document, np.where(is_question, -1, line)):
        if start // BLOCK != (end - 1) // BLOCK:
            touched = _blocks(start, end)
            yield codes(touched, touched)
    for start, end in _runs(document):
        questions = int(is_question[start:end].sum())
        if questions:
            touched, question = _blocks(start, end), _blocks(start, start + questions)
            yield codes(touched, question)
            yield codes(question, touched)


def _runs(*keys: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run in which no key changes."""
    return pairwise([*run_starts(*keys).tolist(), len(keys[0])])


def _blocks(start: int, end: int) -> np.ndarray:
    """Return the numbers of the blocks that hold the tokens from ``start`` to ``end``."""
    return np.arange(start // BLOCK, (end - 1) // BLOCK + 1)


def _is_full(
    query: np.ndarray, key: np.ndarray, document: np.ndarray, line: np.ndarray, sees_all: np.ndarray
) -> np.ndarray:
    """Say which pairs of blocks lie in one document and are all question, or lie in one line; bool ``[pairs]``."""
    if not len(document):
        return np.zeros(0, bool)
    starts = np.arange(0, len(document), BLOCK)
    is_whole = starts + BLOCK <= len(document)

    def uniform(array: np.ndarray) -> np.ndarray:
        return is_whole & (np.minimum.reduceat(array, starts) == np.maximum.reduceat(array, starts))

    def same(is_uniform: np.ndarray, number: np.ndarray) -> np.ndarray:
        return is_uniform[query] & is_uniform[key] & (number[starts[query]] == number[starts[key]])

    all_see = is_whole & np.minimum.reduceat(sees_all, starts)
    same_line = same(uniform(line) & ~np.maximum.reduceat(sees_all, starts), line)
    return same(uniform(document), document) & (all_see[query] | all_see[key] | same_line)


def _table(query: np.ndarray, key: np.ndarray, chosen: np.ndarray, blocks: int) -> tuple[Tensor, Tensor]:
    """Return the chosen key blocks of each query block: counts ``[blocks]`` and numbers ``[blocks, blocks]``."""
    query, key = query[chosen], key[chosen]
    count = np.bincount(query, minlength=blocks)
    table = np.zeros((blocks, blocks), np.int32)
    table[query, ranks(count)] = key
    return torch.from_numpy(count.astype(np.int32)), torch.from_numpy(table)
