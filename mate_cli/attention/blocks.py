"""Exact sparse attention with shapes that do not depend on the table, for devices that compile per shape.

Every line is padded to whole blocks of ``BLOCK`` tokens. A block of queries attends to the question and to the
blocks of its own line; nothing else is ever needed, so the result is that of the dense mask. The numbers of
blocks, of blocks a line and of question tokens are rounded up to steps of a ladder: few signatures, so few
compilations. Only gathers and matrix products, no scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.order import sort_by_line
from mate_cli.attention.pattern import Kind, Pattern, attend_by_group
from mate_cli.attention.plan import Layout, Plan
from mate_cli.errors import UserError

BLOCK = 32


class BlockGroup(NamedTuple):
    """One kind of head: B blocks of ``BLOCK`` queries, each with W key blocks after G question tokens.

    Empty places hold token 0, masked as keys and never read as queries. A block without any key sees all of
    them, so that its softmax stays finite.
    """

    query_index: Tensor  # int64 [B * BLOCK]
    key_index: Tensor  # int64 [B * (G + W * BLOCK)]
    key_bias: Tensor  # float [B, 1, 1, G + W * BLOCK], 0 or -inf
    output_index: Tensor  # int64 [tokens]: place in (block queries, asking tokens, zeros)


class DocumentBlocks(NamedTuple):
    """The queries that see their whole document, D documents of Q asking tokens and N keys."""

    query_index: Tensor  # int64 [D * Q]
    key_index: Tensor  # int64 [D * N]
    key_bias: Tensor  # float [D, 1, 1, N]


@dataclass(frozen=True)
class BlocksPlan(Plan):
    """
    Attributes:
        groups: of ``kinds``, in their order; a ``full`` one has no blocks of its own.
        asking: the question tokens of each document, or all where a kind is ``full``.
    """

    backend: ClassVar[str] = "blocks"
    kinds: tuple[Kind, ...]
    groups: tuple[BlockGroup, ...]
    asking: tuple[DocumentBlocks, ...]

    @property
    def signature(self) -> tuple[int, ...]:
        """The sizes that decide whether a device must compile anew."""
        sizes = [self.tokens]
        for group, asking in zip(self.groups, self.asking, strict=True):
            sizes += [len(group.query_index), len(group.key_index), len(asking.query_index), len(asking.key_index)]
        return tuple(sizes)


def blocks_plan(layout: Layout, kinds: tuple[Kind, ...]) -> BlocksPlan:
    """Cut lines into blocks for every kind of head.

    Raises:
        UserError: a kind whose keys are no line.
    """
    spans = layout.spans()
    made = {kind: _group(kind, layout, spans) for kind in set(kinds)}
    return BlocksPlan(
        tokens=len(layout.document),
        kinds=kinds,
        groups=tuple(made[kind][0] for kind in kinds),
        asking=tuple(made[kind][1] for kind in kinds),
    )


def attend_blocks(qkv: Tensor, plan: BlocksPlan, pattern: Pattern, dropout: float = 0.0) -> Tensor:
    """See ``attend``.

    Raises:
        ValueError: dropout is asked for; only ``eager`` has it.
    """

    def attend_group(rows: Tensor, kind: Kind) -> Tensor:
        number = plan.kinds.index(kind)
        own, asking = plan.groups[number], plan.asking[number]
        parts = [_attend(rows, own.query_index, own.key_index, own.key_bias), _attend(rows, *asking)]
        zero = rows.new_zeros(1, *rows.shape[2:])
        return torch.cat([*parts, zero]).index_select(0, own.output_index).flatten(1)

    return attend_by_group(qkv, pattern, dropout, "blocks", attend_group)


def _attend(rows: Tensor, query_index: Tensor, key_index: Tensor, key_bias: Tensor) -> Tensor:
    """``[tokens, 3, heads, head_dim]`` to ``[queries, heads, head_dim]``, by block."""
    if not len(query_index):
        return rows.new_zeros(0, *rows.shape[2:])
    blocks = len(key_bias)
    query = _gather(rows[:, 0], query_index, blocks)
    key, value = (_gather(rows[:, part], key_index, blocks) for part in (1, 2))
    states = F.scaled_dot_product_attention(query, key, value, attn_mask=key_bias.to(rows.dtype))
    return states.transpose(1, 2).flatten(0, 1)


def _gather(rows: Tensor, index: Tensor, blocks: int) -> Tensor:
    return rows.index_select(0, index).unflatten(0, (blocks, -1)).transpose(1, 2)


def _group(kind: Kind, layout: Layout, spans: np.ndarray) -> tuple[BlockGroup, DocumentBlocks]:
    if kind == "row_or_column":
        raise UserError("model.attention.backend=blocks cannot do 'row_or_column' heads; take dense")
    tokens, documents = len(layout.document), len(spans)
    asks = np.ones(tokens, dtype=bool) if kind == "full" else layout.segment == 0
    asking = _by_document(np.flatnonzero(asks & (layout.document >= 0)), layout, documents)
    everyone = _by_document(np.flatnonzero(layout.document >= 0), layout, documents)
    blocks, key_blocks, owner = _line_blocks(kind, layout, asks)
    keys = np.concatenate([asking[owner], key_blocks], axis=1) if len(blocks) else blocks
    output = np.full(tokens, blocks.size + asking.size)
    output[blocks[blocks < tokens]] = np.flatnonzero(blocks.reshape(-1) < tokens)
    output[asking[asking < tokens]] = blocks.size + np.flatnonzero(asking.reshape(-1) < tokens)
    return (
        BlockGroup(_index(blocks, tokens), _index(keys, tokens), _bias(keys, tokens), torch.from_numpy(output)),
        DocumentBlocks(_index(asking, tokens), _index(everyone, tokens), _bias(everyone, tokens)),
    )


def _by_document(tokens: np.ndarray, layout: Layout, documents: int) -> np.ndarray:
    """Tokens as ``[documents, longest on the ladder]``; the number of all tokens where empty."""
    document = layout.document[tokens]
    counts = np.bincount(document, minlength=documents)
    rank = np.arange(len(tokens)) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.full((documents, step_up(int(counts.max(initial=0)), 16)), len(layout.document))
    places[document, rank] = tokens
    return places


def _line_blocks(kind: Kind, layout: Layout, asks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks ``[B, BLOCK]``, the tokens of their lines ``[B, W * BLOCK]``, and their documents ``[B]``."""
    empty = len(layout.document)
    order = sort_by_line(kind, layout)
    tokens = order.tokens[~asks[order.tokens]]
    if not len(tokens):
        return np.zeros((0, BLOCK), int), np.zeros((0, BLOCK), int), np.zeros(0, int)
    document = layout.document[tokens]
    starts = np.flatnonzero(np.r_[True, (np.diff(document) != 0) | (np.diff(order.line[tokens]) != 0)])
    length = np.diff(np.r_[starts, len(tokens)])
    blocks_of = -(-length // BLOCK)
    first = np.cumsum(blocks_of) - blocks_of
    count, width = step_up(int(blocks_of.sum()), 4), step_up(int(blocks_of.max()), 1)
    places = np.full((count + 1, BLOCK), empty)
    offset = np.arange(len(tokens)) - np.repeat(starts, length)
    places[np.repeat(first, length) + offset // BLOCK, offset % BLOCK] = tokens
    line = np.repeat(np.arange(len(starts)), blocks_of)
    own = np.arange(width) < blocks_of[line][:, None]
    neighbours = np.full((count, width), count)
    neighbours[: len(line)] = np.where(own, first[line][:, None] + np.arange(width), count)
    owner = np.zeros(count, int)
    owner[: len(line)] = document[starts][line]
    return places[:-1], places[neighbours].reshape(count, -1), owner


def step_up(size: int, unit: int) -> int:
    """The next size on the ladder: multiples of ``unit`` at quarter steps between powers of two."""
    if size <= 4 * unit:
        return -(-size // unit) * unit
    quarter = 2 ** (int(np.ceil(np.log2(size / unit))) - 3) * unit
    return -(-size // quarter) * quarter


def _index(places: np.ndarray, tokens: int) -> Tensor:
    return torch.from_numpy(np.where(places < tokens, places, 0).reshape(-1))


def _bias(places: np.ndarray, tokens: int) -> Tensor:
    is_key = places < tokens
    is_key |= ~is_key.any(axis=1, keepdims=True)
    return torch.from_numpy(np.where(is_key, np.float32(0), -np.float32("inf")))[:, None, None]
