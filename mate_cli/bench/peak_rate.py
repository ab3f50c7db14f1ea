"""What a device could compute at most, from its data sheet."""

from __future__ import annotations

import torch

from mate_cli.bench.point import Point

# FLOP/s of dense matrix products; fp32 as PyTorch computes it by default, without TF32.
_PEAK = {
    ("A100", "bf16"): 312e12,
    ("A100", "fp32"): 19.5e12,
    ("H100", "bf16"): 989e12,
    ("H100", "fp32"): 67e12,
    ("H200", "bf16"): 989e12,
    ("H200", "fp32"): 67e12,
}


def peak_rate(point: Point) -> float | None:
    """FLOP/s of the device in the point's precision; None for CPUs and unknown GPUs."""
    if point.device != "cuda":
        return None
    name = torch.cuda.get_device_name()
    return next((rate for (gpu, dtype), rate in _PEAK.items() if gpu in name and dtype == point.dtype), None)
