"""Error of tiny MATE networks on random continuous maps, by depth: an illustration of theorem 1 (paper section 3.3).

Three heads (two of rows, one of columns) and a feed-forward layer of width 4, the least that the theorem needs;
residuals and norms, without which deep networks train badly. The theorem says that a good approximation exists, not
that training finds it, so this is no proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mate_cli.attention import allowed, mate_pattern

HEADS, FEED_FORWARD, WIDTH, HEAD_SIZE, VALUES = 3, 4, 12, 4, 2
"""Sizes of the network; each token of the map has ``VALUES`` numbers."""

STEPS, BATCH, RATE, SCORED = 400, 256, 1e-2, 4096

WAVES = 16  # tanh of random planes in a map

# Two tokens of a question and a table of two by two cells.
_ROW, _COLUMN, _SEGMENT = torch.tensor([[0, 0, 1, 1, 2, 2], [0, 0, 1, 2, 1, 2], [0, 0, 1, 1, 1, 1]])
TOKENS = len(_ROW)

Map = Callable[[Tensor], Tensor]
"""Maps float ``[inputs, TOKENS, VALUES]``, numbers between 0 and 1, to the same shape."""


class Fit(NamedTuple):
    """``error``: root mean squared error over the map's standard deviation; a constant has 1."""

    depth: int
    seed: int
    error: float


def approximation_errors(depths: Sequence[int], seeds: Sequence[int]) -> list[Fit]:
    """Train a network of each depth on a random map of each seed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the products are too small for more
    try:
        return [Fit(depth, seed, fit_error(depth, seed)) for depth in depths for seed in seeds]
    finally:
        torch.set_num_threads(threads)


def fit_error(depth: int, seed: int, steps: int = STEPS) -> float:
    """Train one network on one map and return its error on new inputs."""
    generator = torch.Generator().manual_seed(seed)
    target = random_map(generator)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = TinyMate(depth)
    optimizer = torch.optim.Adam(network.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(steps):
        inputs = torch.rand(BATCH, TOKENS, VALUES, generator=generator)
        optimizer.zero_grad()
        F.mse_loss(network(inputs), target(inputs)).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        inputs = torch.rand(SCORED, TOKENS, VALUES, generator=generator)
        outputs = target(inputs)
        variance = outputs.var(0, correction=0).mean()
        return float((F.mse_loss(network(inputs), outputs) / variance).sqrt())


def random_map(generator: torch.Generator) -> Map:
    """Return a smooth map, a sum of tanh of random planes, in which every output depends on every input."""
    size = TOKENS * VALUES
    planes = torch.randn(size, WAVES, generator=generator) * 2 / size**0.5
    shifts, mix = torch.randn(WAVES, generator=generator), torch.randn(WAVES, size, generator=generator) / WAVES**0.5
    return lambda inputs: (torch.tanh((4 * inputs.flatten(1) - 2) @ planes + shifts) @ mix).view_as(inputs)


class TinyMate(nn.Module):
    """``depth`` layers over tokens with learned positions."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(VALUES, WIDTH), nn.Linear(WIDTH, VALUES)
        self.place = nn.Parameter(torch.randn(TOKENS, WIDTH))
        self.layers = nn.Sequential(*(TinyLayer() for _ in range(depth)))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.leave(self.layers(self.enter(inputs) + self.place))


class TinyLayer(nn.Module):
    """Attention with the pattern's masks, then the feed-forward layer."""

    mask: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * HEADS * HEAD_SIZE)
        self.output = nn.Linear(HEADS * HEAD_SIZE, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, FEED_FORWARD), nn.Linear(FEED_FORWARD, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.register_buffer("mask", head_masks())

    def forward(self, states: Tensor) -> Tensor:
        qkv = self.query_key_value(self.norms[0](states)).unflatten(-1, (3, HEADS, HEAD_SIZE))
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, self.mask)
        states = states + self.output(mixed.transpose(1, 2).flatten(2))
        return states + self.narrow(F.gelu(self.widen(self.norms[1](states))))


def head_masks() -> Tensor:
    """Return the mask of each head, bool ``[HEADS, TOKENS, TOKENS]``."""
    groups = mate_pattern(HEADS, row_ratio=2 / 3).groups
    return torch.cat([allowed(g.kind, _ROW, _COLUMN, _SEGMENT).expand(g.heads, TOKENS, TOKENS) for g in groups])
