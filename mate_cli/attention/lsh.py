"""Reformer's attention (Kitaev et al. 2020; paper table 1): within buckets of tokens of similar states.

Locality-sensitive hashing finds the buckets: the hash of a state is the direction that random rotations turn it to.
Tokens are sorted by document and bucket and cut into chunks of even length; a token attends to those of its bucket in
its chunk and in the one before. Hashing and sorting take ``n log n`` steps, attention ``rounds * n * 2 * chunk`` pairs.

A document of n tokens has about ``2 n / chunk`` buckets. So that their number does not make hashing quadratic, a hash
has digits, as Reformer's has for long sequences: each digit is one of the four directions of a plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.plan import Layout, Plan, padded_rows, ranks

BASE = 4
MAX_DIGITS = 8
# Score of a token with itself: it counts only if no other token is in its bucket.
_SELF = -1e5


@dataclass(frozen=True)
class LshPlan(Plan):
    """The part that does not depend on hashes: n tokens without padding, C chunks. A rank is a position after sorting.

    Attributes:
        chunk: places of a chunk.
        real: int64 ``[n]``, the tokens that are not padding.
        document, digits: int64 ``[n]``, document of each of ``real`` and number of digits of its hash.
        rank_at: int64 ``[C * chunk]``, rank in each place; n in empty places.
        place_of: int64 ``[n]``, place of each rank.
        previous: int64 ``[C]``, the chunk before in the same document; C if there is none.
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
    """Planner with chunks of ``chunk`` tokens, 64 in Reformer's experiments."""

    chunk: int = 64

    def __call__(self, layout: Layout) -> LshPlan:
        spans, tokens = layout.spans(), len(layout.document)
        lengths = spans[:, 1] - spans[:, 0]
        real = np.flatnonzero(layout.document >= 0)
        chunks = -(-lengths // self.chunk)
        places = padded_rows(np.arange(len(real)), lengths, chunks.max(initial=0) * self.chunk, len(real))
        is_place = np.arange(places.shape[1]) < chunks[:, None] * self.chunk
        rank_at, number = places[is_place], ranks(chunks)
        output = np.full(tokens, len(real))
        output[real] = np.arange(len(real))
        arrays = {
            "real": real,
            "document": layout.document[real],
            "digits": np.repeat([hash_digits(length, self.chunk) for length in lengths.tolist()], lengths),
            "rank_at": rank_at,
            "place_of": np.flatnonzero(rank_at < len(real)),
            "previous": np.where(number > 0, np.arange(len(number)) - 1, len(number)),
            "output_index": output,
        }
        indices = {name: torch.from_numpy(array.astype(np.int64)) for name, array in arrays.items()}
        return LshPlan(layout.place(), self.chunk, **indices)


def hash_digits(tokens: int, chunk: int) -> int:
    """Return the number of digits with which a bucket holds a quarter of a chunk to a whole one, on average."""
    return min(max(round(math.log(2 * tokens / chunk, BASE)), 0), MAX_DIGITS)


def attend_lsh(query: Tensor, value: Tensor, rotations: Tensor, plan: LshPlan, dropout: float = 0.0) -> Tensor:
    """Compute attention whose keys are the queries scaled to length 1.

    A pair that meets in several rounds counts in each; rounds are weighted by their log-sum-exp.

    Args:
        query, value: ``[tokens, heads, head_dim]``.
        rotations: ``[rounds, heads, head_dim, MAX_DIGITS, BASE / 2]``.

    Returns:
        ``[tokens, heads, head_dim]``, zero at padding.
    """
    queries, values = (x.index_select(0, plan.real).transpose(0, 1) for x in (query, value))
    bucket = hash_buckets(queries, rotations, plan)
    order = bucket.argsort(dim=-1, stable=True)
    chunk_index = F.pad(order, (0, 1), value=len(plan.real)).index_select(-1, plan.rank_at)
    states, log_sum = _attend_chunks(queries, values, bucket, chunk_index, plan, dropout)
    place = plan.place_of[order.argsort(dim=-1)]
    weight = log_sum.gather(-1, place).softmax(0)
    merged = (_rows(states, place) * weight[..., None]).sum(0).transpose(0, 1).to(query.dtype)
    return torch.cat([merged, merged.new_zeros(1, *merged.shape[1:])]).index_select(0, plan.output_index)


@torch.no_grad()
def hash_buckets(states: Tensor, rotations: Tensor, plan: LshPlan) -> Tensor:
    """Hash ``[heads, n, head_dim]`` to buckets int64 ``[rounds, heads, n]``, which follow the order of documents."""
    turned = torch.einsum("hnd,rhdfk->rhnfk", states, rotations.to(states.dtype))
    digit = torch.cat([turned, -turned], -1).argmax(-1)
    power = torch.arange(MAX_DIGITS, device=states.device)
    worth = torch.where(power < plan.digits[:, None], BASE**power, 0)
    return (digit * worth).sum(-1) + plan.document * BASE**MAX_DIGITS


def _attend_chunks(
    query: Tensor, value: Tensor, bucket: Tensor, chunk_index: Tensor, plan: LshPlan, dropout: float
) -> tuple[Tensor, Tensor]:
    """Turn ``[heads, n, head_dim]`` into outputs ``[rounds, heads, C * chunk, head_dim]`` and their log-sum-exp."""
    rounds, chunks = len(bucket), (len(plan.previous), plan.chunk)
    queries, values = (
        _rows(F.pad(x, (0, 0, 0, 1)).expand(rounds, -1, -1, -1), chunk_index).unflatten(2, chunks)
        for x in (query, value)
    )
    # Empty places share bucket -1, so that their softmax is finite; a missing chunk has bucket -2.
    query_bucket = F.pad(bucket, (0, 1), value=-1).gather(-1, chunk_index).unflatten(2, chunks)
    key_bucket = _with_previous(query_bucket, plan, -2)
    scores = queries @ _with_previous(F.normalize(queries, dim=-1), plan).transpose(-1, -2)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    scores = scores.masked_fill(query_bucket[..., None] != key_bucket[..., None, :], -torch.inf)
    itself = torch.eye(plan.chunk, dtype=torch.bool, device=query.device)
    scores = scores.masked_fill(F.pad(itself, (plan.chunk, 0)), _SELF)
    log_sum = scores.logsumexp(-1, keepdim=True)
    weights = F.dropout((scores - log_sum).exp(), dropout).to(values.dtype)
    return (weights @ _with_previous(values, plan)).flatten(2, 3), log_sum.flatten(2)


def _with_previous(chunked: Tensor, plan: LshPlan, empty: float = 0.0) -> Tensor:
    """Put the chunk before in front of each: ``[rounds, heads, C, chunk, ...]`` to ``[..., C, 2 * chunk, ...]``."""
    missing = chunked.new_full((*chunked.shape[:2], 1, *chunked.shape[3:]), empty)
    return torch.cat([torch.cat([chunked, missing], 2).index_select(2, plan.previous), chunked], 3)


def _rows(states: Tensor, index: Tensor) -> Tensor:
    """Gather ``[rounds, heads, m, head_dim]`` by ``[rounds, heads, k]``."""
    return states.gather(2, index[..., None].expand(*index.shape, states.shape[-1]))
