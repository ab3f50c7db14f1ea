"""The paper's efficient attention (section 3.1): sorted tokens, G global ones, buckets of R.

Each head group sorts the tokens of a document by row or by column. The first G attend to all tokens and all attend to
them. The others are cut into buckets of R; a bucket attends to the global tokens, to itself and to its two neighbours,
within the pattern's mask. Buckets do not wrap around and no key counts twice (docs/notes.md, note 14).

The result equals that of the dense mask if the question has at most G tokens and no line reaches beyond neighbouring
buckets: see ``BucketedPlan.exact`` and ``BucketedPlan.coverage``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.counting import device_type
from mate_cli.attention.coverage import Coverage, bucket_coverage
from mate_cli.attention.dropout import Dropout, attend_pairs, split_heads
from mate_cli.attention.kernel import kernel_precision
from mate_cli.attention.pattern import Kind, Pattern
from mate_cli.attention.plan import Layout, Plan, SortedTokens, gather_index, sort_by_line
from mate_cli.system.errors import UserError


class Buckets(NamedTuple):
    """G and R; the paper's values (appendix A.2) cut 2048 tokens into 116 global ones and 46 buckets."""

    global_size: int = 116
    radius: int = 42


PAPER_BUCKETS = Buckets()

# Buckets whose keys a CPU gathers at once. More need buffers of over 32 MB, which glibc returns to the system after
# each use: clearing them again took a third of the time at 16,384 tokens.
_BUCKETS_AT_ONCE = 48

Qkv = tuple[Tensor, ...]
"""Query, key and value of a group's heads, ``[tokens, heads, head_dim]`` each."""


class BucketGroup(NamedTuple):
    """The buckets of one kind of head: B buckets of R queries and K = G + 3 R keys.

    Empty places hold token 0: as keys they are masked, as queries their output is not used.
    """

    query_index: Tensor  # int64 [B * R]
    key_index: Tensor  # int64 [B * K]: global tokens, previous bucket, the bucket, next bucket
    mask: Tensor  # bool [B, 1, R, K]
    global_index: Tensor  # int64 [global tokens of all documents]
    global_masks: tuple[Tensor, ...]  # for each document bool [its global tokens, its tokens]
    output_index: Tensor  # int64 [tokens]: place in (bucket queries, global tokens, zeros)


@dataclass(frozen=True)
class BucketedPlan(Plan):
    """
    Attributes:
        pieces: see ``Layout.pieces``.
        coverages: for each of ``kinds`` the pairs of its pattern that are computed.
    """

    backend: ClassVar[str] = "bucketed"
    kinds: tuple[Kind, ...]
    groups: tuple[BucketGroup, ...]
    pieces: tuple[int, ...]
    coverages: tuple[Coverage, ...]
    biases: dict[tuple[int, torch.dtype], Tensor] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def exact(self) -> bool:
        return all(coverage.exact for coverage in self.coverages)

    @property
    def coverage(self) -> dict[Kind, float]:
        return {kind: coverage.share for kind, coverage in zip(self.kinds, self.coverages, strict=True)}

    def bias(self, group: int, dtype: torch.dtype) -> Tensor:
        """Return the mask of a group as 0 and -inf, made once for all layers."""
        if (group, dtype) not in self.biases:
            mask = self.groups[group].mask
            self.biases[group, dtype] = torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -torch.inf)
        return self.biases[group, dtype]


def bucketed_plan(layout: Layout, kinds: tuple[Kind, ...], buckets: Buckets = PAPER_BUCKETS) -> BucketedPlan:
    """Sort, cut and mask for every kind of head.

    Raises:
        UserError: a kind is neither ``row`` nor ``column``.
    """
    spans = layout.spans()
    groups: dict[Kind, BucketGroup] = {}
    coverages: dict[Kind, Coverage] = {}
    for kind in set(kinds):
        if kind not in ("row", "column"):
            raise UserError(f"model.attention.backend=bucketed cannot do {kind!r} heads; take auto")
        order = sort_by_line(kind, layout)
        groups[kind] = _bucket_group(order, layout, spans, *buckets)
        coverages[kind] = bucket_coverage(sort_by_line(kind, layout.without_filler()), *buckets)
    return BucketedPlan(
        place=layout.place(),
        kinds=kinds,
        groups=tuple(groups[kind] for kind in kinds),
        pieces=layout.pieces(),
        coverages=tuple(coverages[kind] for kind in kinds),
    )


def attend_bucketed(qkv: Tensor, plan: BucketedPlan, pattern: Pattern, dropout: Dropout | None = None) -> Tensor:
    """See ``attend``."""
    groups = split_heads(qkv, pattern, dropout)
    return torch.cat([_attend_group(rows, plan, plan.kinds.index(kind), drops) for kind, rows, drops in groups], 1)


def _attend_group(rows: Tensor, plan: BucketedPlan, number: int, dropout: Dropout | None) -> Tensor:
    """``[tokens, 3, heads, head_dim]`` to ``[tokens, heads * head_dim]``."""
    group = plan.groups[number]
    bias = plan.bias(number, kernel_precision(rows, group.mask.shape[2]))
    qkv = rows.unbind(1)
    parts = [
        *_attend_buckets(qkv, group, bias, dropout),
        *_attend_global(qkv, plan, group, dropout),
        rows.new_zeros(1, *rows.shape[2:]),
    ]
    return torch.cat(parts).index_select(0, group.output_index).flatten(1)


def _attend_buckets(qkv: Qkv, group: BucketGroup, bias: Tensor, dropout: Dropout | None) -> Iterator[Tensor]:
    """Yield the results of some buckets at a time, in their order, ``[queries, heads, head_dim]`` each."""
    _, _, queries, keys = bias.shape
    parts: Iterable[tuple[Tensor, Tensor, Tensor]] = [(group.query_index, group.key_index, bias)]
    if device_type(bias) == "cpu":  # torch-xla crashes on parts of an index
        at_once = _BUCKETS_AT_ONCE
        split = group.query_index.split(at_once * queries), group.key_index.split(at_once * keys), bias.split(at_once)
        parts = zip(*split, strict=True)
    for query_index, key_index, mask in parts:
        query = _blocks(qkv[0], query_index, (len(mask), queries))
        key, value = (_blocks(rows, key_index, (len(mask), keys)) for rows in qkv[1:])
        drops = dropout and dropout.of_blocks(query_index, key_index, len(mask))
        yield attend_pairs(query, key, value, mask, drops).transpose(1, 2).flatten(0, 1)


def _attend_global(qkv: Qkv, plan: BucketedPlan, group: BucketGroup, dropout: Dropout | None) -> Iterator[Tensor]:
    """Yield the results of each document's global tokens, ``[global tokens, heads, head_dim]``."""
    masks = group.global_masks
    queries = qkv[0].index_select(0, group.global_index).split([len(mask) for mask in masks])
    # Splits instead of slices: each slice would clear a gradient as large as the batch.
    keys, values = (rows.split(plan.pieces)[1::2] for rows in qkv[1:])
    drops = [None] * len(masks) if dropout is None else _global_dropout(plan, group, dropout)
    for *document, mask, dropped in zip(queries, keys, values, masks, drops, strict=True):
        query, key, value = (part.transpose(0, 1)[None] for part in document)
        yield attend_pairs(query, key, value, mask, dropped)[0].transpose(0, 1)


def _global_dropout(plan: BucketedPlan, group: BucketGroup, dropout: Dropout) -> Iterator[Dropout]:
    """Yield the dropout of each document's global tokens."""
    # Parts of the words: torch-xla crashes on parts of an index.
    queries = dropout.query.index_select(1, group.global_index).split([len(mask) for mask in group.global_masks], 1)
    for query, key in zip(queries, dropout.key.split(plan.pieces, 1)[1::2], strict=True):
        yield dropout._replace(query=query[None], key=key[None])


def _blocks(rows: Tensor, index: Tensor, shape: tuple[int, int]) -> Tensor:
    """Gather ``[tokens, heads, head_dim]`` to ``[blocks, heads, places, head_dim]``; ``shape``: blocks, places."""
    return rows.index_select(0, index).unflatten(0, shape).transpose(1, 2)


def _bucket_group(order: SortedTokens, layout: Layout, spans: np.ndarray, global_size: int, radius: int) -> BucketGroup:
    tokens, is_global = len(layout.document), order.rank < global_size
    tail = order.rank[~is_global] - global_size
    counts = -(-np.maximum(spans[:, 1] - spans[:, 0] - global_size, 0) // radius)
    bucket = (np.cumsum(counts) - counts)[order.document[~is_global]] + tail // radius
    places = np.full((counts.sum() + 1, radius), tokens)
    places[bucket, tail % radius] = order.tokens[~is_global]
    first = np.full((len(spans), min(global_size, (spans[:, 1] - spans[:, 0]).max(initial=0))), tokens)
    first[order.document[is_global], order.rank[is_global]] = order.tokens[is_global]
    document = np.repeat(np.arange(len(spans)), counts)
    keys = _neighbourhood(places, first, document)
    output = np.full(tokens, places[:-1].size + is_global.sum())
    output[order.tokens[~is_global]] = bucket * radius + tail % radius
    output[order.tokens[is_global]] = places[:-1].size + np.arange(is_global.sum())
    global_tokens, global_document = order.tokens[is_global], order.document[is_global]
    return BucketGroup(
        query_index=gather_index(places[:-1], tokens),
        key_index=gather_index(keys, tokens),
        mask=torch.from_numpy(_mask(order, places[:-1], keys))[:, None],
        global_index=torch.from_numpy(global_tokens),
        global_masks=tuple(
            torch.from_numpy(
                order.allowed(global_tokens[global_document == number][:, None], np.arange(start, end)[None])
            )
            for number, (start, end) in enumerate(spans.tolist())
        ),
        output_index=torch.from_numpy(output),
    )


def _neighbourhood(places: np.ndarray, first: np.ndarray, document: np.ndarray) -> np.ndarray:
    """Return the keys of each bucket, ``[B, G + 3 R]``; the last bucket, which is empty, stands for a missing one."""
    buckets = len(document)
    owner = np.r_[-1, document, -1]
    previous = np.where(owner[:-2] == document, np.arange(buckets) - 1, buckets)
    following = np.where(owner[2:] == document, np.arange(buckets) + 1, buckets)
    return np.concatenate([first[document], places[previous], places[:buckets], places[following]], axis=1)


def _mask(order: SortedTokens, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Say which keys each query sees, bool ``[B, R, K]``; an empty query sees one, so that its softmax is finite."""
    mask = order.allowed(queries[:, :, None], keys[:, None, :])
    mask[..., 0] |= queries == len(order.line)
    return mask
