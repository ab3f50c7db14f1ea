"""TableETC (paper section 5.1): a local window for every token, and a global token for every row and column.

Of the G global tokens of a document (256 in ETC) the first half belongs to rows, the second half to columns. A token
attends to all global tokens and to the tokens at most ``radius`` before or behind it; a global token attends to its
whole document. The relative position of a pair has a vector for each head that is added to the key, as in ETC.

What the paper leaves open (docs/notes.md, note 16): row r (0 is the header) and column c (from 1) have the global
tokens r and c - 1, modulo G / 2. A global token without a table token is padding and not computed. The label of a pair
is the offset in tokens, clipped at 12 (ETC's limit); "mine" between a token and the global tokens of its row and column
(the paper's special value); "another" for every other pair with a global token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.native.table_etc import (
    NativeTableEtcPlan,
    attend_native_table_etc,
    native_table_etc_plan,
)
from mate_cli.attention.plan import Layout, Plan, gather_blocks, gather_index, padded_rows

FARTHEST = 12
MINE, ANOTHER = 2 * FARTHEST + 1, 2 * FARTHEST + 2
LABELS = 2 * FARTHEST + 3
_CLOSED = LABELS  # label of a pair that does not attend


@dataclass(frozen=True)
class TableEtcPlan(Plan):
    """B blocks of R queries, each with K = G + 3 R keys: global tokens, previous, token_globals and next block.

    The global tokens follow the packed tokens, document by document. Empty places hold token 0: as keys they are
    closed, as queries their output is not used.

    Attributes:
        slots: int64 ``[global tokens]``, which of its document's G each is.
        query_index: int64 ``[B * R]``; key_index: int64 ``[B * K]``; labels: uint8 ``[B, 1, R, K]``.
        output_index: int64 ``[tokens + global tokens]``, place in (block queries, global tokens, zeros).
        pieces: see ``Layout.pieces``, then the number of global tokens of each document.
        global_labels: for each document with n tokens and g global ones uint8 ``[1, g, n + g]``: labels of its global
            tokens with the tokens, then with each other.
    """

    backend: ClassVar[str] = "table_etc"
    slots: Tensor
    query_index: Tensor
    key_index: Tensor
    labels: Tensor
    output_index: Tensor
    pieces: tuple[int, ...]
    global_labels: tuple[Tensor, ...]


@dataclass(frozen=True)
class TableEtcPlanner:
    """Planner for a window of ``radius`` tokens either way.

    Attributes:
        global_size: G, even: global tokens of a document.
        native: whether the compiled kernel computes the plan.
    """

    radius: int
    global_size: int = 256
    native: bool = False

    def __call__(self, layout: Layout) -> Plan:
        spans, token_globals, tokens = layout.spans(), globals_of_tokens(layout, self.global_size), len(layout.document)
        used = np.unique((layout.document[:, None] * self.global_size + token_globals)[token_globals >= 0])
        every = used if layout.shape is None else np.arange(len(spans) * self.global_size)
        (document, slots), total = np.divmod(every, self.global_size), tokens + len(every)
        if self.native:
            return native_table_etc_plan(layout, token_globals, document, slots, self.radius)
        # By token, then global token. What is no key is a query all the same, but its output is not used.
        is_key = np.r_[layout.is_real, np.isin(every, used)]
        queries, local, of_block = _windows(layout, spans, self.radius, total)
        shared = _by_document(document, len(spans), tokens, total)[of_block]
        labels = [
            _labels_to_globals(queries, shared, token_globals, slots, is_key),
            _local_labels(queries, local, self.radius, is_key),
        ]
        return TableEtcPlan(
            place=layout.place(),
            slots=torch.from_numpy(slots),
            query_index=gather_index(queries, total),
            key_index=gather_index(np.concatenate([shared, local], axis=1), total),
            labels=torch.from_numpy(np.concatenate(labels, axis=2))[:, None],
            output_index=_output_index(queries, tokens, total),
            pieces=(*layout.pieces(), *np.bincount(document, minlength=len(spans)).tolist()),
            global_labels=tuple(_global_labels(spans, document, slots, token_globals, is_key)),
        )


def globals_of_tokens(layout: Layout, global_size: int) -> np.ndarray:
    """Return the global tokens of each token's row and column, int64 ``[tokens, 2]``; -1 outside of the table."""
    half = global_size // 2
    token_globals = np.stack([layout.row % half, half + (layout.column - 1) % half], axis=1)
    in_table = (layout.segment != 0) & layout.is_real
    return np.where(in_table[:, None], token_globals, -1)


def attend_table_etc(
    qkv: Tensor, relative: Tensor, plan: TableEtcPlan | NativeTableEtcPlan, heads: int, dropout: float = 0.0
) -> Tensor:
    """Compute multi-head attention with scores ``query (key + relative)^T / sqrt(head_dim)``.

    Args:
        qkv: ``[tokens + global tokens, 3 * hidden]``, query | key | value, heads in order within each.
        relative: ``[LABELS, hidden]``, the vector of each label.
        dropout: share of attention probabilities to drop.

    Returns:
        ``[tokens + global tokens, hidden]``; zero at padding.
    """
    if isinstance(plan, NativeTableEtcPlan):
        return attend_native_table_etc(qkv, relative, plan, heads, dropout)
    query, key, value = qkv.unflatten(1, (3, heads, -1)).unbind(1)
    query = query / query.shape[-1] ** 0.5
    by_label = torch.einsum("xhe,lhe->xhl", query, relative.unflatten(1, (heads, -1)))
    bias = torch.cat([by_label, by_label.new_full((*by_label.shape[:2], 1), -torch.inf)], 2)
    blocks = len(plan.labels)
    queries = [gather_blocks(rows, plan.query_index, blocks) for rows in (query, bias)]
    keys = [gather_blocks(rows, plan.key_index, blocks) for rows in (key, value)]
    windows = _attend(queries, keys, plan.labels, dropout).transpose(1, 2).flatten(0, 1)
    of_globals = _attend_globals([query, bias], [key, value], plan, dropout)
    parts = [windows, *of_globals, windows.new_zeros(1, *windows.shape[1:])]
    return torch.cat(parts).index_select(0, plan.output_index).flatten(1)


def _attend(queries: list[Tensor], keys: list[Tensor], labels: Tensor, dropout: float) -> Tensor:
    """Attend with queries and their scores by label to keys and values, ``[..., heads, n, head_dim]`` each."""
    (query, bias), (key, value) = queries, keys
    scores = query @ key.transpose(-1, -2)
    scores = scores + bias.gather(-1, labels.long().expand(scores.shape))
    return F.dropout(scores.softmax(-1), dropout) @ value


def _attend_globals(queries: list[Tensor], keys: list[Tensor], plan: TableEtcPlan, dropout: float) -> Iterator[Tensor]:
    """Yield the results of each document's global tokens, ``[global tokens, heads, head_dim]``."""
    # Splits instead of slices: each slice would clear a gradient as large as the batch.
    query_parts, key_parts = ([rows.split(plan.pieces) for rows in states] for states in (queries, keys))
    first = 2 * len(plan.global_labels) + 1
    for number, labels in enumerate(plan.global_labels):
        document, of_globals = 2 * number + 1, first + number
        query = [parts[of_globals].transpose(0, 1) for parts in query_parts]
        key = [torch.cat([parts[document], parts[of_globals]]).transpose(0, 1) for parts in key_parts]
        yield _attend(query, key, labels, dropout).transpose(0, 1)


def _windows(layout: Layout, spans: np.ndarray, radius: int, empty: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the tokens of each block ``[B, R]``, those of it and its neighbours ``[B, 3 R]``, its document ``[B]``."""
    real = np.flatnonzero(layout.document >= 0)
    document = layout.document[real]
    rank = real - spans[document, 0]
    counts = -(-(spans[:, 1] - spans[:, 0]) // radius)
    of_block = np.repeat(np.arange(len(spans)), counts)
    # An empty block before each document and after the last, so that no neighbour is in another document.
    places = np.full((len(of_block) + len(spans) + 1, radius), empty)
    first = np.cumsum(counts) - counts + np.arange(len(spans)) + 1
    places[first[document] + rank // radius, rank % radius] = real
    number = np.arange(len(of_block)) + of_block + 1
    return places[number], np.concatenate([places[number - 1], places[number], places[number + 1]], axis=1), of_block


def _by_document(document: np.ndarray, documents: int, tokens: int, empty: int) -> np.ndarray:
    """Return the global tokens of each document, ``[documents, most]``; ``document`` is that of each global token."""
    counts = np.bincount(document, minlength=documents)
    return padded_rows(tokens + np.arange(len(document)), counts, counts.max(initial=0), empty)


def _labels_to_globals(
    queries: np.ndarray, shared: np.ndarray, token_globals: np.ndarray, slots: np.ndarray, is_key: np.ndarray
) -> np.ndarray:
    """Return the labels of queries with global tokens, uint8 ``[B, R, G]``."""
    mine = np.concatenate([token_globals, np.full((len(slots) + 1, 2), -1)])
    slot = np.r_[np.full(len(token_globals), -2), slots, -2]
    is_mine = (mine[queries][:, :, None] == slot[shared][:, None, :, None]).any(-1)
    is_open = np.r_[is_key, False][shared][:, None]
    return np.where(~is_open, _CLOSED, np.where(is_mine, MINE, ANOTHER)).astype(np.uint8)


def _local_labels(queries: np.ndarray, local: np.ndarray, radius: int, is_key: np.ndarray) -> np.ndarray:
    """Return the labels in windows, uint8 ``[B, R, 3 R]``; queries that are no keys see all, for a finite softmax."""
    offset, is_key = local[:, None] - queries[:, :, None], np.r_[is_key, False]
    is_open = (abs(offset) <= radius) & is_key[local][:, None]
    labels = np.where(is_open, offset.clip(-FARTHEST, FARTHEST) + FARTHEST, _CLOSED)
    labels[~is_key[queries]] = ANOTHER
    return labels.astype(np.uint8)


def _global_labels(
    spans: np.ndarray, document: np.ndarray, slots: np.ndarray, token_globals: np.ndarray, is_key: np.ndarray
) -> Iterator[Tensor]:
    first = len(token_globals)
    for number, (start, end) in enumerate(spans.tolist()):
        mine = slots[document == number]
        is_mine = (token_globals[None, start:end] == mine[:, None, None]).any(-1)
        labels = np.full((len(mine), end - start + len(mine)), ANOTHER, np.uint8)
        labels[:, : end - start][is_mine] = MINE
        own_keys = is_key[first : first + len(mine)]
        labels[np.ix_(own_keys, ~np.r_[is_key[start:end], own_keys])] = _CLOSED
        yield torch.from_numpy(labels)[None]
        first += len(mine)


def _output_index(queries: np.ndarray, tokens: int, total: int) -> Tensor:
    globals_ = queries.size + np.arange(total - tokens)
    index = np.r_[np.full(tokens, queries.size + len(globals_)), globals_]
    index[queries[queries < total]] = np.flatnonzero(queries.reshape(-1) < total)
    return torch.from_numpy(index)
