"""Exact sparse attention with shapes that do not depend on the table, for devices that compile per shape.

The table tokens of a document are sorted by line and cut into blocks of ``BLOCK``. A block of queries attends to the
question and to one window of the sorted tokens that contains all of its lines; a mask keeps the query's own line, so
the result equals that of the dense mask. The number of blocks follows from the number of tokens, the width of the
window from the longest lines. Both are rounded up to steps of a ladder, or are those of a ``FixedShape``. The module
uses gathers and matrix products only, no scatter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.dropout import Dropout, attend_pairs, split_heads
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import (
    Layout,
    Plan,
    gather_blocks,
    gather_index,
    padded_rows,
    ranks,
    run_lengths,
    run_starts,
    sort_by_line,
)
from mate_cli.system.errors import UserError

BLOCK = 32


class LineBlocks(NamedTuple):
    """B blocks of the sorted table tokens of one kind of head; the window of a block is W consecutive places."""

    order: Tensor  # int64 [B * BLOCK]: token in each place; 0 in empty ones
    line: Tensor  # int64 [B * BLOCK]: number of the line in the batch; -1 in empty places
    window: Tensor  # int64 [B]: first place of the window
    document: Tensor  # int64 [B]
    output_index: Tensor  # int64 [tokens]: place in (blocks, asking tokens, zeros)


class DocumentBlocks(NamedTuple):
    """The queries that attend to their whole document: D documents of Q asking tokens and N keys; token 0 if empty.

    A document without keys attends to all of its empty places, so that its softmax stays finite.
    """

    query_index: Tensor  # int64 [D * Q]
    query_is_real: Tensor  # bool [D, Q]
    key_index: Tensor  # int64 [D * N]
    key_bias: Tensor  # float [D, 1, 1, N], 0 or -inf


class Keys(NamedTuple):
    """The K = W + Q keys of each block."""

    place: Tensor  # int64 [B, K], in (blocks, asking tokens)
    bias: Tensor  # [B, 1, BLOCK, K], 0 or -inf


@dataclass(frozen=True)
class BlocksPlan(Plan):
    """
    Attributes:
        groups: blocks of each of ``kinds``; a ``full`` group has none.
        widths: W of each of ``kinds``.
        asking: for each of ``kinds`` the question tokens of the documents, or all tokens for ``full``.
    """

    backend: ClassVar[str] = "blocks"
    kinds: tuple[Kind, ...]
    groups: tuple[LineBlocks, ...]
    widths: tuple[int, ...]
    asking: tuple[DocumentBlocks, ...]
    keys: dict[tuple[int, torch.dtype], Keys] = field(default_factory=dict, init=False, compare=False, repr=False)

    def keys_of(self, group: int, dtype: torch.dtype) -> Keys:
        """Return the keys of a group's blocks and their mask, made once for all layers."""
        if (group, dtype) not in self.keys:
            self.keys[group, dtype] = _keys(self.groups[group], self.widths[group], self.asking[group], dtype)
        return self.keys[group, dtype]


def blocks_plan(layout: Layout, kinds: tuple[Kind, ...]) -> BlocksPlan:
    """Sort lines and cut them into blocks for every kind of head.

    Raises:
        UserError: a kind is ``row_or_column``.
        ValueError: the layout does not fit its shape.
    """
    documents = len(layout.spans())
    made = {kind: _group(kind, layout, documents) for kind in set(kinds)}
    return BlocksPlan(
        place=layout.place(),
        kinds=kinds,
        groups=tuple(made[kind][0] for kind in kinds),
        widths=tuple(made[kind][1] for kind in kinds),
        asking=tuple(made[kind][2] for kind in kinds),
    )


def windows_needed(kind: Kind, layout: Layout) -> np.ndarray:
    """Return the width of the widest window that a block of each document needs, int64 ``[documents]``."""
    documents = len(layout.spans())
    cut = _cut(kind, layout, documents, layout.segment == 0)
    widest = np.zeros(documents, int)
    np.maximum.at(widest, cut.document, cut.needed)
    return widest


def attend_blocks(qkv: Tensor, plan: BlocksPlan, pattern: Pattern, dropout: Dropout | None = None) -> Tensor:
    """See ``attend``."""
    outputs = []
    for kind, rows, drops in split_heads(qkv, pattern, dropout):
        number = plan.kinds.index(kind)
        tables = _attend_lines(rows, plan, number, drops)
        documents = _attend_documents(rows, plan.asking[number], drops)
        parts = torch.cat([tables, documents, rows.new_zeros(1, *rows.shape[2:])])
        outputs.append(parts.index_select(0, plan.groups[number].output_index).flatten(1))
    return torch.cat(outputs, 1)


def _attend_lines(rows: Tensor, plan: BlocksPlan, number: int, dropout: Dropout | None) -> Tensor:
    """``[tokens, 3, heads, head_dim]`` to ``[B * BLOCK, heads, head_dim]``."""
    group = plan.groups[number]
    if not len(group.order):
        return rows.new_zeros(0, *rows.shape[2:])
    keys = plan.keys_of(number, rows.dtype)
    table, question = rows.index_select(0, group.order), rows.index_select(0, plan.asking[number].query_index)
    query = table[:, 0].unflatten(0, (-1, BLOCK)).transpose(1, 2)
    seen = torch.cat([table, question])
    key, value = (gather_blocks(seen[:, part], keys.place.flatten(), len(keys.place)) for part in (1, 2))
    if dropout is not None:
        token = torch.cat([group.order, plan.asking[number].query_index])
        dropout = dropout.of_blocks(group.order, token[keys.place.flatten()], len(keys.place))
    return attend_pairs(query, key, value, keys.bias, dropout).transpose(1, 2).flatten(0, 1)


def _attend_documents(rows: Tensor, asking: DocumentBlocks, dropout: Dropout | None) -> Tensor:
    """``[tokens, 3, heads, head_dim]`` to ``[D * Q, heads, head_dim]``."""
    if not len(asking.query_index):
        return rows.new_zeros(0, *rows.shape[2:])
    documents = len(asking.key_bias)
    query = gather_blocks(rows[:, 0], asking.query_index, documents)
    key, value = (gather_blocks(rows[:, part], asking.key_index, documents) for part in (1, 2))
    dropout = dropout and dropout.of_blocks(asking.query_index, asking.key_index, documents)
    return attend_pairs(query, key, value, asking.key_bias.to(rows.dtype), dropout).transpose(1, 2).flatten(0, 1)


def _keys(group: LineBlocks, width: int, asking: DocumentBlocks, dtype: torch.dtype) -> Keys:
    """Compute the keys on the device: a gather and a comparison cost less there than sending their result."""
    device, questions = group.line.device, asking.query_is_real.shape[1]
    places = group.window[:, None] + torch.arange(width, device=device)
    question_places = group.document[:, None] * questions + torch.arange(questions, device=device)
    query_line, key_line = group.line.view(-1, BLOCK, 1), group.line[places][:, None]
    is_question = asking.query_is_real[group.document][:, None].expand(-1, BLOCK, -1)
    visible = torch.cat([query_line == key_line, is_question], dim=2)[:, None]
    bias = torch.zeros_like(visible, dtype=dtype).masked_fill(~visible, -torch.inf)
    return Keys(torch.cat([places, len(group.line) + question_places], dim=1), bias)


def _group(kind: Kind, layout: Layout, documents: int) -> tuple[LineBlocks, int, DocumentBlocks]:
    if kind == "row_or_column":
        raise UserError("model.attention.backend=blocks cannot do 'row_or_column' heads; take dense")
    tokens, shape = len(layout.document), layout.shape
    asks = np.full(tokens, kind == "full") | (layout.segment == 0)
    most_asking, most_keys = (None, None) if shape is None else (shape.question, shape.tokens)
    most_asking = most_keys if kind == "full" else most_asking
    asking = _by_document(np.flatnonzero(asks & layout.is_real), layout, documents, most_asking)
    keys = _by_document(np.flatnonzero(layout.is_real), layout, documents, most_keys)
    cut = _cut(kind, layout, documents, asks)
    width = _width(cut, None if shape is None or kind == "full" else shape.window(kind))
    output = np.full(tokens, len(cut.tokens) + asking.size)
    output[cut.tokens[cut.tokens < tokens]] = np.flatnonzero(cut.tokens < tokens)
    output[asking[asking < tokens]] = len(cut.tokens) + np.flatnonzero(asking.reshape(-1) < tokens)
    arrays = (cut.line, np.minimum(cut.window, len(cut.tokens) - width), cut.document, output)
    is_key = keys < tokens
    is_key |= ~is_key.any(axis=1, keepdims=True)
    bias = torch.from_numpy(np.where(is_key, np.float32(0), -np.float32("inf")))[:, None, None]
    return (
        LineBlocks(gather_index(cut.tokens, tokens), *map(torch.from_numpy, arrays)),
        width,
        DocumentBlocks(
            gather_index(asking, tokens), torch.from_numpy(asking < tokens), gather_index(keys, tokens), bias
        ),
    )


def _by_document(tokens: np.ndarray, layout: Layout, documents: int, most: int | None) -> np.ndarray:
    """Return the tokens as ``[documents, most]``; the number of all tokens in empty places."""
    counts = np.bincount(layout.document[tokens], minlength=documents)
    longest = int(counts.max(initial=0))
    if most is not None and longest > most:
        raise ValueError(f"a document has {longest} queries or keys, and the fixed shape has room for {most}")
    return padded_rows(tokens, counts, most or step_up(longest, 16), len(layout.document))


class _Cut(NamedTuple):
    """``tokens`` (the number of all tokens in empty places) and ``line``: ``[B * BLOCK]``; other arrays: ``[B]``."""

    tokens: np.ndarray
    line: np.ndarray
    window: np.ndarray
    document: np.ndarray
    needed: np.ndarray


def _cut(kind: Kind, layout: Layout, documents: int, asks: np.ndarray) -> _Cut:
    """Sort the tokens that do not ask, and cut them at the borders of documents and every ``BLOCK`` tokens."""
    order = sort_by_line(kind, layout)
    tokens = order.tokens[~asks[order.tokens] & layout.is_real[order.tokens]]
    document = layout.document[tokens]
    length = np.bincount(document, minlength=documents)
    blocks_of = -(-length // BLOCK)
    first = np.cumsum(blocks_of) - blocks_of
    place = first[document] * BLOCK + ranks(length)
    starts = run_starts(document, order.line[tokens])
    number = np.repeat(np.arange(len(starts)), run_lengths(starts, len(tokens)))
    blocks = step_up(int(blocks_of.sum()), 4)
    if layout.shape is not None and not asks.all():
        blocks = documents * -(-layout.shape.tokens // BLOCK)
    window, end = np.arange(blocks) * BLOCK, (np.arange(blocks) + 1) * BLOCK
    # Backwards, so that the first token of each block is written last and decides.
    window[place[::-1] // BLOCK] = place[starts][number][::-1]
    np.maximum.at(end, place // BLOCK, place[np.r_[starts, len(tokens)][1:] - 1][number] + 1)
    all_tokens, line = np.full(blocks * BLOCK, len(layout.document)), np.full(blocks * BLOCK, -1)
    all_tokens[place], line[place] = tokens, number
    document_of_block = np.zeros(blocks, int)
    document_of_block[place // BLOCK] = document
    return _Cut(all_tokens, line, window, document_of_block, end - window)


def _width(cut: _Cut, most: int | None) -> int:
    if most is not None:
        most = max(1, -(-most // BLOCK)) * BLOCK
    needed = int(cut.needed.max(initial=0))
    if most is not None and needed > most:
        raise ValueError(f"a line needs a window of {needed} tokens, and the fixed shape has room for {most}")
    return min(most or step_up(needed, BLOCK), len(cut.tokens))


def step_up(size: int, unit: int) -> int:
    """Round ``size`` up to the next of the multiples of ``unit`` at quarter steps between powers of two."""
    if size <= 4 * unit:
        return -(-size // unit) * unit
    quarter = 2 ** (int(np.ceil(np.log2(size / unit))) - 3) * unit
    return -(-size // quarter) * quarter
