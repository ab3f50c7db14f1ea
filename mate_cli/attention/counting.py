"""Computations that are only counted: fake tensors on the CPU stand for those of another device.

Fake tensors have a shape and no values. PyTorch's autograd takes those of the CPU alone where it has no other device,
so the code that depends on the device asks ``device_type``, and kernels that need values do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

_device: ContextVar[str | None] = ContextVar("device", default=None)


@contextmanager
def counting_for(device: str) -> Iterator[None]:
    """Count for a type of device: ``cpu``, ``cuda`` or ``xla``, which has no fused attention kernel."""
    token = _device.set(device)
    try:
        with sdpa_kernel(SDPBackend.MATH) if device == "xla" else nullcontext():
            yield
    finally:
        _device.reset(token)


def is_counting() -> bool:
    """True if tensors have no values."""
    return _device.get() is not None


def device_type(tensor: Tensor) -> str:
    """Return the type of the device that computes with a tensor, or that it stands for."""
    return _device.get() or tensor.device.type
