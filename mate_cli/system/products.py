"""The rate of matrix products on this processor, measured."""

from __future__ import annotations

import time
from functools import cache

import torch

from mate_cli.system.processor import processor_flags

# Of a layer of MiniLM, for a packed batch.
_ROWS, _DEPTH, _COLUMNS = 2048, 384, 1536
_SECONDS, _ROUNDS = 0.03, 3
_BF16 = ("avx512_bf16", "amx_bf16")


@cache
def product_rate(dtype: torch.dtype) -> float:
    """Return FLOP/s of products in ``dtype``; the best of three short rounds, as other work only slows them."""
    left, right = torch.randn(_ROWS, _DEPTH).to(dtype), torch.randn(_DEPTH, _COLUMNS).to(dtype)
    left @ right  # packs and starts threads
    return max(_rate(left, right) for _ in range(_ROUNDS))


def processor_instructions() -> str:
    """Return the vector instructions that PyTorch uses, and those for products in bf16; for keys and reports.

    Virtual processors often have a name that says neither.
    """
    flags = processor_flags()
    return ", ".join([torch.backends.cpu.get_cpu_capability(), *(name for name in _BF16 if name in flags)])


def has_bf16_instructions() -> bool:
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(capabilities.get(name) for name in _BF16)


def bf16_speedup() -> float:
    """Return how many times as fast as in 32 bits products in bf16 are; below 1 where they are emulated.

    Some processors have the instructions and no fast product: half the rate of 32 bits was seen.
    """
    return product_rate(torch.bfloat16) / product_rate(torch.float32)


def _rate(left: torch.Tensor, right: torch.Tensor) -> float:
    started, products = time.perf_counter(), 0
    while time.perf_counter() - started < _SECONDS:
        left @ right
        products += 1
    return products * 2 * left.numel() * right.shape[1] / (time.perf_counter() - started)
