"""The Lightning data module: packed micro-batches of encoded examples, with their attention plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
from torch.utils.data import DataLoader

from mate_cli.encoding.batch import Batch
from mate_cli.encoding.row_fields import row_field
from mate_cli.training.loader import batch_loader
from mate_cli.training.sampler import StepSampler, StreamSampler, rank_share, shares_by_class
from mate_cli.training.shapes import ShapedRows


class TaskDataModule(pl.LightningDataModule):
    """Serve encoded rows to training in the order of ``StepSampler``, and to validation in their own order.

    Args:
        train, dev: encoded rows (map-style).
        is_stream: ``train`` is a stream, in which an example has as many losses as masked tokens; in other data each
            example has one.
        batch: examples of an optimizer step; micro_batch: of one backward pass on the devices of one process.
        workers: processes that build batches and plans; 0 builds them in the training process, as validation on a CPU
            does.
        borders: most tokens of an example of each length class; with two or more, batches are of one class.
    """

    def __init__(
        self,
        train: Any,
        dev: Any,
        is_stream: bool,
        collator: Callable[[Sequence[Any]], Batch],
        batch: int,
        micro_batch: int,
        steps: int,
        seed: int,
        workers: int,
        borders: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.has_classes = len(borders) > 1
        if self.has_classes:
            self.train_classes, self.dev_classes = (
                np.searchsorted(borders, row_field(rows, "length")) for rows in (train, dev)
            )
            train, dev = ShapedRows(train), ShapedRows(dev)
        self.train, self.dev, self.collator = train, dev, collator
        self.batch, self.micro_batch, self.steps = batch, micro_batch, steps
        self.seed, self.workers = seed, workers
        self.is_stream = is_stream

    def train_dataloader(self) -> DataLoader[Batch]:
        assert self.trainer is not None
        sampler = self._sampler(self.trainer.global_step, self.trainer.global_rank, self.trainer.world_size)
        return batch_loader(self.train, self.collator, self.workers, batch_sampler=sampler)

    def val_dataloader(self) -> DataLoader[Batch]:
        assert self.trainer is not None
        place = (self.micro_batch, self.trainer.global_rank, self.trainer.world_size)
        share: Any = (
            shares_by_class(self.dev_classes, *place) if self.has_classes else rank_share(len(self.dev), *place)
        )
        # A process that is forked in the midst of training keeps a copy of what training has in memory, and stays.
        # On a CPU that is the whole training, for batches that take a hundredth of a pass to build.
        workers = 0 if self.trainer.strategy.root_device.type == "cpu" else self.workers
        return batch_loader(self.dev, self.collator, workers, sampler=share, batch_size=self.micro_batch)

    @property
    def losses_per_step(self) -> int | None:
        """Number of losses in an optimizer step, over all ranks: the divisor of their sum. None for a stream."""
        return None if self.is_stream else self.batch

    def batches_of(self, step: int, rank: int, world_size: int) -> list[Batch]:
        """Build the micro-batches of an optimizer step on a rank again."""
        sampler = iter(self._sampler(step, rank, world_size))
        passes = self.batch // (self.micro_batch * world_size)
        return [self.collator([self.train[number] for number in next(sampler)]) for _ in range(passes)]

    def _sampler(self, start: int = 0, rank: int = 0, world_size: int = 1) -> StepSampler:
        sampler = StreamSampler if self.is_stream else StepSampler
        return sampler(
            len(self.train),
            self.batch,
            self.micro_batch,
            self.steps,
            self.seed,
            start,
            rank,
            world_size,
            self.train_classes if self.has_classes else None,
        )
