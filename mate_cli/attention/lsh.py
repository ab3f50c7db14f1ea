"""Attention within buckets of similar tokens, found by locality-sensitive hashing: Reformer's (paper section 2).

A token's hash is where random rotations turn it. Tokens are sorted by document and bucket and cut into chunks of
even length; a token attends to those of its bucket in its own chunk and in the one before. Hashing and sorting take
``n log n`` steps, attention ``rounds * n * 2 * chunk`` pairs (table 1).

A document of n tokens has about ``2 n / chunk`` buckets. So that their number does not make hashing quadratic, a
hash has digits, as Reformer's for long sequences has: each digit is one of the four directions of a plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.plan import Layout, Plan

BASE = 4
MAX_DIGITS = 8
# A token sees itself only where it is alone in its bucket.
_SELF = -1e5


@dataclass(frozen=True)
class LshPlan(Plan):
    """What does not depend on the hashes; n tokens that are no padding, C chunks. A rank is a place after sorting.

    Attributes:
        chunk: places of a chunk.
        real: int64 ``[n]``, the tokens that are no padding.
        document, digits: int64 ``[n]``, of each of ``real``: its document, the digits of a hash there.
        rank_at: int64 ``[C * chunk]``, rank in each place; n where the place is empty.
        place_of: int64 ``[n]``, place of each rank.
        previous: int64 ``[C]``, the chunk before in the same document; C where there is none.
        output_index: int64 ``[tokens]``, index in ``real``; n for padding.
    """

    backend: ClassVar[str] = "lsh"
    chunk: int
    real: Tensor
    document: Tensor
    digits: Tensor
    rank_at: Tensor
    place_of: Tensor
    previous: Tensor
    output_index: Tensor


@dataclass(frozen=True)
class LshPlanner:
    """Plans packed batches; ``chunk`` is 64 in Reformer's experiments."""

    chunk: int = 64

    def __call__(self, layout: Layout) -> LshPlan:
        spans, tokens = layout.spans(), len(layout.document)
        lengths = spans[:, 1] - spans[:, 0]
        real = np.flatnonzero(layout.document >= 0)
        counts = -(-lengths // self.chunk)
        owner = np.repeat(np.arange(len(spans)), counts)
        number = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
        offset = number[:, None] * self.chunk + np.arange(self.chunk)
        first = np.cumsum(lengths) - lengths
        ranks = np.where(offset < lengths[owner, None], first[owner, None] + offset, len(real)).reshape(-1)
        output = np.full(tokens, len(real))
        output[real] = np.arange(len(real))
        arrays = {
            "real": real,
            "document": layout.document[real],
            "digits": np.repeat([hash_digits(length, self.chunk) for length in lengths.tolist()], lengths),
            "rank_at": ranks,
            "place_of": np.flatnonzero(ranks < len(real)),
            "previous": np.where(number > 0, np.arange(len(owner)) - 1, len(owner)),
            "output_index": output,
        }
        return LshPlan(tokens, self.chunk, **{name: torch.from_numpy(a.astype(np.int64)) for name, a in arrays.items()})


def hash_digits(tokens: int, chunk: int) -> int:
    """Digits of a hash for which a bucket holds a quarter of a chunk to a whole one, on average."""
    return min(max(round(math.log(2 * tokens / chunk, BASE)), 0), MAX_DIGITS)


def attend_lsh(query: Tensor, value: Tensor, rotations: Tensor, plan: LshPlan, dropout: float = 0.0) -> Tensor:
    """Attention with keys that are the queries, scaled to length 1.

    A pair that meets in several rounds counts in each; the rounds are weighted by their log-sum-exp.

    Args:
        query, value: ``[tokens, heads, head_dim]``.
        rotations: ``[rounds, heads, head_dim, MAX_DIGITS, BASE / 2]``.

    Returns:
        ``[tokens, heads, head_dim]``, zero at padding.
    """
    asking, values = (x.index_select(0, plan.real).transpose(0, 1) for x in (query, value))
    bucket = hash_buckets(asking, rotations, plan)
    order = bucket.argsort(dim=-1, stable=True)
    chunk_index = F.pad(order, (0, 1), value=len(plan.real)).index_select(-1, plan.rank_at)
    states, log_sum = _attend_chunks(asking, values, bucket, chunk_index, plan, dropout)
    place = plan.place_of[order.argsort(dim=-1)]
    weight = log_sum.gather(-1, place).softmax(0)
    merged = (_rows(states, place) * weight[..., None]).sum(0).transpose(0, 1).to(query.dtype)
    return torch.cat([merged, merged.new_zeros(1, *merged.shape[1:])]).index_select(0, plan.output_index)


@torch.no_grad()
def hash_buckets(states: Tensor, rotations: Tensor, plan: LshPlan) -> Tensor:
    """Bucket of each token in each round, ``[heads, n, head_dim]`` to int64 ``[rounds, heads, n]``; in the order of
    documents."""
    turned = torch.einsum("hnd,rhdfk->rhnfk", states, rotations.to(states.dtype))
    digit = torch.cat([turned, -turned], -1).argmax(-1)
    power = torch.arange(MAX_DIGITS, device=states.device)
    worth = torch.where(power < plan.digits[:, None], BASE**power, 0)
    return (digit * worth).sum(-1) + plan.document * BASE**MAX_DIGITS


def _attend_chunks(
    query: Tensor, value: Tensor, bucket: Tensor, chunk_index: Tensor, plan: LshPlan, dropout: float
) -> tuple[Tensor, Tensor]:
    """``[heads, n, head_dim]`` to outputs ``[rounds, heads, C * chunk, head_dim]`` and their log-sum-exp."""
    rounds, chunks = len(bucket), (len(plan.previous), plan.chunk)
    asking, values = (
        _rows(F.pad(x, (0, 0, 0, 1)).expand(rounds, -1, -1, -1), chunk_index).unflatten(2, chunks)
        for x in (query, value)
    )
    # Empty places share bucket -1, so that their softmax is finite; the chunk that is not there has its own.
    own = F.pad(bucket, (0, 1), value=-1).gather(-1, chunk_index).unflatten(2, chunks)
    others = _with_previous(own, plan, -2)
    scores = asking @ _with_previous(F.normalize(asking, dim=-1), plan).transpose(-1, -2)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    scores = scores.masked_fill(own[..., None] != others[..., None, :], -torch.inf)
    itself = torch.eye(plan.chunk, dtype=torch.bool, device=query.device)
    scores = scores.masked_fill(F.pad(itself, (plan.chunk, 0)), _SELF)
    log_sum = scores.logsumexp(-1, keepdim=True)
    weights = F.dropout((scores - log_sum).exp(), dropout).to(values.dtype)
    return (weights @ _with_previous(values, plan)).flatten(2, 3), log_sum.flatten(2)


def _with_previous(chunked: Tensor, plan: LshPlan, empty: float = 0.0) -> Tensor:
    """The places of the chunk before, then the chunk's own: ``[rounds, heads, C, chunk, ...]`` to twice as many."""
    none = chunked.new_full((*chunked.shape[:2], 1, *chunked.shape[3:]), empty)
    return torch.cat([torch.cat([chunked, none], 2).index_select(2, plan.previous), chunked], 3)


def _rows(states: Tensor, index: Tensor) -> Tensor:
    """``[rounds, heads, m, head_dim]`` by ``[rounds, heads, k]``."""
    return states.gather(2, index[..., None].expand(*index.shape, states.shape[-1]))
