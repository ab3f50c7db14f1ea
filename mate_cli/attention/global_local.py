"""Attention of ETC and BigBird: global tokens, neighbouring and random blocks (paper section 2, table 1).

The first G tokens of a document are global: they attend to all tokens and all attend to them. ETC puts markers of
sentences or cells there; here they are the first tokens of the input, the question and the header, so that all models
read the same input. The other tokens form blocks of R in their order; a block attends to the global tokens, to itself,
to its two neighbours and to some random blocks, ``n (2 G + (3 + random) R)`` pairs in all. Documents of at most G
tokens are dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.kernel import attend_block
from mate_cli.attention.plan import Layout, Plan, ranks

_SEED = 2021


class DocumentSpan(NamedTuple):
    """A document: its start, the end of its global tokens, its end."""

    start: int
    middle: int
    end: int


@dataclass(frozen=True)
class GlobalLocalPlan(Plan):
    """B blocks of R places, each with W key blocks: the previous one, itself, the next one, then random ones.

    Attributes:
        spans: the documents.
        radius: R.
        block_index: int64 ``[B * R]``, token in each place; one past the last token in empty ones.
        global_index: int64 ``[B * G]``, the global tokens of each block's document.
        neighbours: int64 ``[B * W]``, key blocks; B for a missing one.
        is_key: bool ``[B, 1, 1, G + W * R]``.
        output_index: int64 ``[tokens]``, place in (blocks, global tokens, zeros).
    """

    backend: ClassVar[str] = "global_local"
    spans: tuple[DocumentSpan, ...]
    radius: int
    block_index: Tensor
    global_index: Tensor
    neighbours: Tensor
    is_key: Tensor
    output_index: Tensor

    @property
    def blocks(self) -> int:
        return len(self.is_key)


@dataclass(frozen=True)
class GlobalLocalPlanner:
    """Planner of packed batches.

    Attributes:
        global_size: G, 256 in ETC.
        radius: R, 84 in ETC; a window is three blocks wide.
        random_blocks: number of random key blocks of a block (BigBird), drawn with a fixed seed for each number of
            blocks and used by all heads and layers.
    """

    global_size: int = 256
    radius: int = 84
    random_blocks: int = 0

    def __call__(self, layout: Layout) -> GlobalLocalPlan:
        spans = layout.spans()
        start, end = spans[:, 0], spans[:, 1]
        middle = np.minimum(end, start + self.global_size)
        counts = -(-(end - middle) // self.radius)
        document = np.repeat(np.arange(len(spans)), counts)
        place = middle[document, None] + ranks(counts)[:, None] * self.radius + np.arange(self.radius)
        tokens = len(layout.document)
        places = np.where(place < end[document, None], place, tokens)
        neighbours = self._neighbours(counts)
        keys = np.concatenate([places, np.full((1, self.radius), tokens)])[neighbours]
        keys = keys.reshape(len(keys), neighbours.shape[1] * self.radius)
        firsts = start[document, None] + np.arange(self.global_size)
        return GlobalLocalPlan(
            place=layout.place(),
            spans=tuple(DocumentSpan(*row) for row in np.stack([start, middle, end], axis=1).tolist()),
            radius=self.radius,
            block_index=torch.from_numpy(places.reshape(-1)),
            global_index=torch.from_numpy(firsts.reshape(-1)),
            neighbours=torch.from_numpy(neighbours.reshape(-1)),
            is_key=torch.from_numpy(np.concatenate([firsts, keys], axis=1) < tokens)[:, None, None],
            output_index=torch.from_numpy(_output_index(places, start, middle, tokens)),
        )

    def _neighbours(self, counts: np.ndarray) -> np.ndarray:
        """Return the key blocks of each block, int64 ``[B, W]``."""
        total, first = int(counts.sum()), 0
        rows = [np.zeros((0, 3 + self.random_blocks), np.int64)]
        for count in counts.tolist():
            near = np.arange(count)[:, None] + np.array([-1, 0, 1])
            keys = np.concatenate([near, random_blocks(count, self.random_blocks)], axis=1)
            rows.append(np.where((keys >= 0) & (keys < count), keys + first, total))
            first += count
        return np.concatenate(rows)


class Bias(Protocol):
    """Terms added to the scores besides the plan's mask; -inf forbids a pair."""

    def of_blocks(self, query: Tensor, plan: GlobalLocalPlan) -> Tensor:
        """Map ``[B, heads, R, head_dim]`` to ``[B, heads, R, G + W * R]``."""

    def of_globals(self, query: Tensor, tokens: int) -> Tensor:
        """Map ``[1, heads, global tokens, head_dim]`` to ``[1, heads, global tokens, tokens]``."""


def attend_global_local(
    query: Tensor, key: Tensor, value: Tensor, plan: GlobalLocalPlan, bias: Bias | None = None, dropout: float = 0.0
) -> Tensor:
    """Compute attention over a packed batch, ``[tokens, heads, head_dim]`` each; zero at padding."""
    parts = [_of_blocks(query, key, value, plan, bias, dropout)]
    for start, middle, end in plan.spans:
        queries = query[start:middle].transpose(0, 1)[None]
        keys, values = (x[start:end].transpose(0, 1)[None] for x in (key, value))
        added = bias.of_globals(queries, end - start) if bias else None
        parts.append(attend_block(queries, keys, values, added, dropout)[0].transpose(0, 1))
    return torch.cat([*parts, query.new_zeros(1, *query.shape[1:])]).index_select(0, plan.output_index)


def random_blocks(count: int, draws: int) -> np.ndarray:
    """Draw other blocks than the neighbours of each of ``count`` blocks, int64 ``[count, draws]``; -1 if too few."""
    generator = np.random.default_rng([_SEED, count])
    blocks = np.full((count, draws), -1)
    for number in range(count):
        first, end = max(number - 1, 0), min(number + 2, count)
        others = count - (end - first)
        drawn = generator.choice(others, min(draws, others), replace=False) if others else np.zeros(0, int)
        blocks[number, : len(drawn)] = drawn + (drawn >= first) * (end - first)
    return blocks


def _of_blocks(
    query: Tensor, key: Tensor, value: Tensor, plan: GlobalLocalPlan, bias: Bias | None, dropout: float
) -> Tensor:
    """Map ``[tokens, heads, head_dim]`` to the results in the places of all blocks, ``[B * R, heads, head_dim]``."""
    if not plan.blocks:
        return query[:0]
    queries = _blocks(query, plan)[:-1].transpose(1, 2)
    keys, values = (_keys(x, plan).transpose(1, 2) for x in (key, value))
    mask = plan.is_key
    if bias is not None:
        mask = bias.of_blocks(queries, plan).masked_fill(~mask, -torch.inf)
    return attend_block(queries, keys, values, mask, dropout).transpose(1, 2).flatten(0, 1)


def _blocks(states: Tensor, plan: GlobalLocalPlan) -> Tensor:
    """Gather ``[B + 1, R, heads, head_dim]``; zero in empty places and in the last block."""
    zero = states.new_zeros(1, *states.shape[1:])
    rows = torch.cat([states, zero]).index_select(0, plan.block_index)
    rows = torch.cat([rows, zero.expand(plan.radius, -1, -1)])
    return rows.unflatten(0, (plan.blocks + 1, plan.radius))


def _keys(states: Tensor, plan: GlobalLocalPlan) -> Tensor:
    """Gather global tokens and key blocks of each block, ``[B, G + W * R, heads, head_dim]``."""
    near = _blocks(states, plan).index_select(0, plan.neighbours)
    first = states.index_select(0, plan.global_index)
    return torch.cat([part.reshape(plan.blocks, -1, *states.shape[1:]) for part in (first, near)], 1)


def _output_index(places: np.ndarray, start: np.ndarray, middle: np.ndarray, tokens: int) -> np.ndarray:
    firsts = np.concatenate([np.zeros(0, np.int64), *(np.arange(*span) for span in zip(start, middle, strict=True))])
    output = np.full(tokens, places.size + len(firsts))
    output[places[places < tokens]] = np.flatnonzero(places.reshape(-1) < tokens)
    output[firsts] = places.size + np.arange(len(firsts))
    return output
