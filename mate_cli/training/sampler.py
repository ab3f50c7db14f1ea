"""Which examples make up each optimizer step: a function of the seed and the step alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from torch.utils.data import Sampler


class StepSampler(Sampler[list[int]]):
    """Yields micro-batches of example indices, the ones of step ``start`` first.

    The examples of all passes form one endless stream, each pass shuffled by (seed, pass); step ``s`` takes
    ``batch`` of them. So a run that starts at step s sees what an undisturbed run sees from there (design
    section 6), and a pass need not divide into steps.

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
            own = self.step_indices(step)[self.rank :: self.world_size]
            for begin in range(0, len(own), self.micro_batch):
                yield own[begin : begin + self.micro_batch].tolist()

    def step_indices(self, step: int) -> np.ndarray:
        """The ``batch`` example indices of one optimizer step, int64 ``[batch]``."""
        passes, offset = np.divmod(self.step_places(step), self.examples)
        return np.array([_pass_order(self.examples, self.seed, int(p))[o] for p, o in zip(passes, offset, strict=True)])

    def step_places(self, step: int) -> np.ndarray:
        """The places of an optimizer step in the endless stream, int64 ``[batch]``."""
        return np.arange(step * self.batch, (step + 1) * self.batch)


class StreamSampler(StepSampler):
    """Yields places, for data that are such a stream themselves (``mate_cli.encoding.masked_rows``)."""

    def step_indices(self, step: int) -> np.ndarray:
        return self.step_places(step)


def rank_share(examples: int, batch: int, rank: int, world_size: int) -> list[int]:
    """The examples that a rank looks at where each is to be looked at once: every ``world_size``-th batch of them.

    Every rank gets as many batches, for some strategies compute each together; where the batches run out, the last
    one of a rank is an earlier one again. So the k-th batch is the ``k // world_size``-th of rank ``k % world_size``.
    """
    batches = -(-examples // batch)
    own = range(rank, -(-batches // world_size) * world_size, world_size)
    begins = [number % batches * batch for number in own]
    return [place for begin in begins for place in range(begin, min(begin + batch, examples))]


@lru_cache(maxsize=4)
def _pass_order(examples: int, seed: int, number: int) -> np.ndarray:
    return np.random.default_rng((seed, number)).permutation(examples)
