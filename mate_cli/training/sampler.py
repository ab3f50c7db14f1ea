"""The examples of each optimizer step, as a function of the seed and the step alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from torch.utils.data import Sampler


class StepSampler(Sampler[list[Any]]):
    """Yield micro-batches of example indices from step ``start`` on; with classes, of pairs (index, class of the step).

    The examples of all epochs form one endless stream, each epoch shuffled by (seed, epoch); each step takes the next
    ``batch`` of them. So a run resumed at a step sees what an uninterrupted run sees, and an epoch need not divide
    into steps.

    With classes, an epoch is arranged so that a step has examples of one class, whatever the number of ranks; the steps
    remain in random order. Where one class ends and the next begins, a step has examples of both, and the higher class.

    Args:
        examples: size of the data set; batch: examples per optimizer step over all ranks;
        micro_batch: examples per rank and backward pass, ``batch = accumulation * micro_batch * world_size``;
        classes: int ``[examples]``.

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
        classes: np.ndarray | None = None,
    ) -> None:
        if batch % (micro_batch * world_size):
            raise ValueError(f"batch {batch} does not divide into {world_size} x {micro_batch}")
        self.examples, self.batch, self.micro_batch = examples, batch, micro_batch
        self.steps, self.seed, self.start = steps, seed, start
        self.rank, self.world_size, self.classes = rank, world_size, classes
        self.accumulation = batch // (micro_batch * world_size)

    def __len__(self) -> int:
        """Micro-batches of the whole run on this rank, those before ``start`` included."""
        return self.steps * self.accumulation

    def __iter__(self) -> Iterator[list[Any]]:
        for step in range(self.start, self.steps):
            indices = self.step_indices(step)
            share = indices[self.rank :: self.world_size].tolist()
            if self.classes is not None:
                # Of the whole step: a rank cannot see it in its own share, and all must agree.
                highest = int(self.classes[indices].max())
                share = [(index, highest) for index in share]
            for begin in range(0, len(share), self.micro_batch):
                yield share[begin : begin + self.micro_batch]

    def step_indices(self, step: int) -> np.ndarray:
        """The example indices of an optimizer step, int64 ``[batch]``."""
        epochs, offsets = np.divmod(self.step_places(step), self.examples)
        return np.array([self._order(int(e))[offset] for e, offset in zip(epochs, offsets, strict=True)])

    def step_places(self, step: int) -> np.ndarray:
        """The places of an optimizer step in the endless stream, int64 ``[batch]``."""
        return np.arange(step * self.batch, (step + 1) * self.batch)

    @cached_property
    def _order(self) -> Callable[[int], np.ndarray]:
        """The order of the examples in an epoch; those of the last ones are kept."""
        return lru_cache(maxsize=4)(self._arranged)

    def _arranged(self, epoch: int) -> np.ndarray:
        order = np.random.default_rng((self.seed, epoch)).permutation(self.examples)
        if self.classes is None:
            return order
        order = order[np.argsort(self.classes[order], kind="stable")]
        # Steps that this epoch shares with its neighbours have examples of the lowest class, like their other half.
        head = min(-epoch * self.examples % self.batch, self.examples)
        steps, tail = divmod(self.examples - head, self.batch)
        first, last, whole = np.split(order, [head, head + tail])
        shuffled = np.random.default_rng((self.seed, epoch, 1)).permutation(whole.reshape(steps, self.batch))
        return np.concatenate([first, shuffled.reshape(-1), last])


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


def shares_by_class(classes: np.ndarray, batch: int, rank: int, world_size: int) -> list[tuple[int, int]]:
    """The pairs (example, class of its batch) that a rank validates on, by rising class.

    Batches that the ranks compute together have the same class, the highest of their examples.

    Args:
        classes: int ``[examples]``.
    """
    order = np.argsort(classes, kind="stable")
    pairs = []
    for number, place in enumerate(rank_share(len(order), batch, rank, world_size)):
        together = (number // batch + 1) * batch * world_size
        pairs.append((int(order[place]), int(classes[order[min(together, len(order)) - 1]])))
    return pairs
