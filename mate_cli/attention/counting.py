"""Computations that are only counted: fake tensors on the CPU stand for those of another device.

Fake tensors have a shape and no values. PyTorch's autograd takes those of the CPU alone where it has no other device,
so the code that depends on the device asks ``device_type``, and kernels that need values do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

_device: ContextVar[str | None] = ContextVar("device", default=None)


@contextmanager
def counting_for(device: str) -> Iterator[None]:
    """Count for a type of device: ``cpu``, ``cuda`` or ``xla``, which has no fused attention kernel."""
    token = _device.set(device)
    try:
        with ExitStack() as stack:
            if device == "xla":
                stack.enter_context(sdpa_kernel(SDPBackend.MATH))
            if device == "cuda":
                stack.enter_context(_ExactNorms())
            yield
    finally:
        _device.reset(token)


def is_counting() -> bool:
    """True if tensors have no values."""
    return _device.get() is not None


def device_type(tensor: Tensor) -> str:
    """Return the type of the device that computes with a tensor, or that it stands for."""
    return _device.get() or tensor.device.type


class _ExactNorms(TorchFunctionMode):
    """Layer norms in fp32, as under CUDA's autocast; the CPU's leaves them in bf16."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function is F.layer_norm and torch.is_autocast_enabled("cpu"):
            args = (args[0].float(), *args[1:])
        return function(*args, **(kwargs or {}))
