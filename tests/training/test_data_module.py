"""The loaders of training and validation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from mate_cli.training.data import TaskDataModule


@pytest.mark.parametrize(("device", "workers"), [("cpu", 0), ("cuda", 3)])
def test_validation_on_a_cpu_forks_no_copy_of_the_training(device: str, workers: int) -> None:
    rows: Any = [{"length": 8}] * 4
    data = TaskDataModule(rows, rows, False, lambda batch: batch, batch=4, micro_batch=2, steps=1, seed=0, workers=3)
    strategy = SimpleNamespace(root_device=torch.device(device))
    data.trainer = SimpleNamespace(strategy=strategy, global_step=0, global_rank=0, world_size=1)
    assert data.val_dataloader().num_workers == workers
    assert data.train_dataloader().num_workers == 3
