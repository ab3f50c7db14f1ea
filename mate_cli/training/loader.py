"""The data loader of training, validation and prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.utils.data import DataLoader

from mate_cli.encoding.batch import Batch
from mate_cli.system.stopping import leave_stopping_to_parent


def batch_loader(
    rows: Any, collator: Callable[[Sequence[Any]], Batch], workers: int, **batching: Any
) -> DataLoader[Batch]:
    """A loader with ``workers`` processes, which ignore stop signals."""
    return DataLoader(
        rows,
        collate_fn=collator,
        num_workers=workers,
        worker_init_fn=_ignore_stop_signals,
        prefetch_factor=4 if workers else None,
        **batching,
    )


def _ignore_stop_signals(worker: int) -> None:
    """Leave stopping to the main process, which needs batches until its step is done."""
    leave_stopping_to_parent()
