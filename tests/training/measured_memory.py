"""Measure the memory that a training step takes: a process of its own, for ``test_memory.py``.

``python -m tests.training.measured_memory BACKEND RECOMPUTE DROPOUT EXAMPLES`` prints the bytes by which its peak grows
in the second of two steps, beyond weights, gradients, optimizer and batch; then those that ``count_memory`` counts.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import torch

from mate_cli.bench.memory import peak_bytes
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.training.devices import Devices
from mate_cli.training.memory import LargestInputs, Way, count_memory, largest_batch_of
from mate_cli.training.optimizer import BertAdamW
from mate_cli.training.starting_model import model_config
from tests.training.test_every_model import composed

CPU = Devices("cpu", 1, 1, "32-true", "auto")
SIZE = ("backbone.hidden=256", "backbone.layers=4", "backbone.heads=4", "backbone.intermediate=1024")
TOKENS = 512


def prepared(dropout: float, *words: str) -> tuple[Any, Any]:
    """A configuration of a middle-sized model, and the model's."""
    config = composed("task=hybridqa", "schedule=paper", "backbone=tiny", *SIZE, *words)
    schedule = config.task.schedules["paper"]
    schedule.max_tokens, schedule.dropout, schedule.attention_dropout = TOKENS, dropout, dropout
    return config, model_config(config)


def step(config: Any, network: Any, batch: Any) -> torch.Tensor:
    """Forward and backward."""
    task = task_of(config)
    loss = task.losses(task.logits(network, batch), batch).sum()
    loss.backward()
    return loss.detach()


def main(backend: str, recompute: bool, dropout: float, examples: int) -> None:
    """Print the measured and the counted bytes."""
    torch.set_num_threads(1)
    (config, model), way = prepared(dropout), Way(backend, recompute, examples)
    counted = count_memory(config, model, CPU, LargestInputs(TOKENS), way).activations
    network = kind_of(config.task).model(model).train()
    network.get_submodule("tapas.encoder").recompute = recompute
    optimizer = BertAdamW([{"params": list(network.parameters())}], lr=1e-5)
    batch = largest_batch_of(config, model, CPU, LargestInputs(TOKENS), way)
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter).fill_(1e-9)
    step(config, network, batch)
    optimizer.step()
    with contextlib.suppress(OSError):  # proc(5): the peak starts again at what is resident now
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = peak_bytes()
    step(config, network, batch)
    print(peak_bytes() - before, counted)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "true", float(sys.argv[3]), int(sys.argv[4]))
