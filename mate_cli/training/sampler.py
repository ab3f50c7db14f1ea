"""The examples of each optimizer step, as a function of the seed and the step alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from torch.utils.data import Sampler


class StepSampler(Sampler[list[int]]):
    """Yield micro-batches of example indices from step ``start`` on.

    The examples of all epochs form one endless stream, each epoch shuffled by (seed, epoch); each step takes the next
    ``batch`` of them. So a run resumed at a step sees what an uninterrupted run sees, and an epoch need not divide
    into steps.

    Args:
        examples: size of the data set; batch: examples per optimizer step over all ranks;
        micro_batch: examples per rank and backward pass, ``batch = accumulation * micro_batch * world_size``.

    Raises:
        ValueError: the batch does not divide into micro-batches.
    """

    def __init__(
        self,
        examples: int,
        batch: int,
        micro_batch: int,
        steps: int,
        seed: int,
        start: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if batch % (micro_batch * world_size):
            raise ValueError(f"batch {batch} does not divide into {world_size} x {micro_batch}")
        self.examples, self.batch, self.micro_batch = examples, batch, micro_batch
        self.steps, self.seed, self.start = steps, seed, start
        self.rank, self.world_size = rank, world_size
        self.accumulation = batch // (micro_batch * world_size)

    def __len__(self) -> int:
        """Micro-batches of the whole run on this rank, those before ``start`` included."""
        return self.steps * self.accumulation

    def __iter__(self) -> Iterator[list[int]]:
        for step in range(self.start, self.steps):
            share = self.step_indices(step)[self.rank :: self.world_size]
            for begin in range(0, len(share), self.micro_batch):
                yield share[begin : begin + self.micro_batch].tolist()

    def step_indices(self, step: int) -> np.ndarray:
        """The example indices of an optimizer step, int64 ``[batch]``."""
        epochs, offsets = np.divmod(self.step_places(step), self.examples)
        return np.array(
            [_shuffled(self.examples, self.seed, int(e))[offset] for e, offset in zip(epochs, offsets, strict=True)]
        )

    def step_places(self, step: int) -> np.ndarray:
        """The places of an optimizer step in the endless stream, int64 ``[batch]``."""
        return np.arange(step * self.batch, (step + 1) * self.batch)


class StreamSampler(StepSampler):
    """Yield places in the stream, for data that are a stream themselves (``mate_cli.encoding.masked_rows``)."""

    def step_indices(self, step: int) -> np.ndarray:
        return self.step_places(step)


def rank_share(examples: int, batch: int, rank: int, world_size: int) -> list[int]:
    """The examples that a rank validates on: every ``world_size``-th batch.

    Batch k is the ``k // world_size``-th of rank ``k % world_size``. All ranks get equally many batches, because some
    strategies compute them together; a rank that runs out repeats an earlier batch.
    """
    batches = -(-examples // batch)
    rounds = -(-batches // world_size)
    begins = [number % batches * batch for number in range(rank, rounds * world_size, world_size)]
    return [place for begin in begins for place in range(begin, min(begin + batch, examples))]


@lru_cache(maxsize=4)
def _shuffled(examples: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng((seed, epoch)).permutation(examples)
