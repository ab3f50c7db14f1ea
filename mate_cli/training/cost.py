"""The cost of a run, estimated before it starts: parameters, tokens, FLOPs, time."""

from __future__ import annotations

import torch
from torch import nn

from mate_cli.system.products import product_rate
from mate_cli.training.devices import Devices

# Measured with MiniLM: the share of the trial's rate that the products of a step reach, and the time of all else
# (elementwise operations, attention, optimizer) in that of its products in 32 bits, as bf16 speeds up products alone.
_PRODUCT_SHARE, _OTHER_WORK = 0.6, 0.3


def describe_cost(model: nn.Module, mean_length: float, examples: int, devices: Devices) -> str:
    """One line for the user before training starts; FLOPs as in ``training_flops``, the time for a CPU only."""
    parameters = sum(p.numel() for p in model.parameters())
    flops = training_flops(model) * mean_length * examples
    line = (
        f"{parameters / 1e6:.1f}M parameters, {examples:,} examples of {mean_length:.0f} tokens on average, "
        f"{flops / 1e12:,.1f} TFLOP, {devices.precision}"
    )
    if devices.accelerator == "cpu":
        line += f", about {seconds_on_cpu(flops, devices.precision) / 60:.1f} min here"
    return line


def training_flops(model: nn.Module) -> int:
    """FLOPs for each token in training, without the attention products.

    Each weight of a linear layer counts 6: 2 forward, 4 backward. One that does not learn counts 2.
    """
    weights = (m.weight for m in model.modules() if isinstance(m, nn.Linear))
    return sum((6 if weight.requires_grad else 2) * weight.numel() for weight in weights)


def seconds_on_cpu(flops: float, precision: str) -> float:
    """The time to train with so many FLOPs on this processor, from a short trial of matrix products."""
    dtype = torch.bfloat16 if precision.startswith("bf16") else torch.float32
    return flops / product_rate(dtype) / _PRODUCT_SHARE + flops / product_rate(torch.float32) * _OTHER_WORK
