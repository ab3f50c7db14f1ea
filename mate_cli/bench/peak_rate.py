"""What a device could compute at most, from its data sheet."""

from __future__ import annotations

import torch

from mate_cli.bench.point import Point

# FLOP/s of dense matrix products; fp32 as PyTorch computes it by default, without TF32. A device of a TPU v3 is a
# core, half a chip; from v4 on it is a chip.
PEAKS = {
    ("A100", "bf16"): 312e12,
    ("A100", "fp32"): 19.5e12,
    ("H100", "bf16"): 989e12,
    ("H100", "fp32"): 67e12,
    ("H200", "bf16"): 989e12,
    ("H200", "fp32"): 67e12,
    ("TPU v3", "bf16"): 61.5e12,
    ("TPU v4", "bf16"): 275e12,
    ("TPU v5e", "bf16"): 197e12,
    ("TPU v6e", "bf16"): 918e12,
}


def peak_rate(point: Point) -> float | None:
    """FLOP/s of the device in the point's precision; None for CPUs and unknown GPUs."""
    if point.device != "cuda":
        return None
    name = torch.cuda.get_device_name()
    return next((rate for (gpu, dtype), rate in PEAKS.items() if gpu in name and dtype == point.dtype), None)
