"""What a run will cost, said before it starts: parameters, tokens, FLOPs, time."""

from __future__ import annotations

import time

import torch
from torch import nn

from mate_cli.training.devices import Devices

# Share of the matrix-product rate that a whole training step reaches: elementwise work, attention and optimizer
# take the rest (measured with MiniLM on two cores; said as an estimate).
_EFFICIENCY = 0.5


def describe_cost(model: nn.Module, mean_length: float, examples: int, devices: Devices) -> str:
    """One line for the user before training starts.

    FLOPs are those of ``training_flops``.
    """
    parameters = sum(p.numel() for p in model.parameters())
    tokens = mean_length * examples
    flops = training_flops(model) * tokens
    line = (
        f"{parameters / 1e6:.1f}M parameters, {examples:,} examples of {mean_length:.0f} tokens on average, "
        f"{flops / 1e12:,.1f} TFLOP, {devices.precision}"
    )
    if devices.accelerator == "cpu":
        line += f", about {seconds_on_cpu(flops, devices.precision) / 60:.1f} min here"
    return line


def training_flops(model: nn.Module) -> int:
    """FLOPs of a token in training: 6 for each weight of the linear layers (2 forward, 4 backward), attention products
    left out."""
    return 6 * sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))


def seconds_on_cpu(flops: float, precision: str) -> float:
    """What a training of so many FLOPs takes on this machine's processor, by a short trial."""
    return flops / (_matmul_rate(precision) * _EFFICIENCY)


def _matmul_rate(precision: str) -> float:
    """FLOP/s of this machine's matrix products, from a short trial."""
    dtype = torch.bfloat16 if precision.startswith("bf16") else torch.float32
    left, right = torch.randn(2048, 384, dtype=dtype), torch.randn(384, 1536, dtype=dtype)
    left @ right
    started, rounds = time.perf_counter(), 0
    while time.perf_counter() - started < 0.1:
        left @ right
        rounds += 1
    return rounds * 2 * left.numel() * right.shape[1] / (time.perf_counter() - started)
