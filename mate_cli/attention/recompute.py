"""Results whose backward pass computes them again instead of keeping what it needs: less memory for more work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import checkpoint


def recomputed(function: Callable[..., Any], *inputs: Any, draws: bool = False) -> Any:
    """Call ``function`` and keep its inputs alone for the backward pass, which calls it again.

    Args:
        inputs: of the function; the first is a tensor, with a gradient on XLA devices.
        draws: the function draws random numbers: draw the same ones again.
    """
    if not torch.is_grad_enabled():
        return function(*inputs)
    if inputs[0].device.type == "xla":
        return _recomputed_on_xla(function, inputs, draws)
    return checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=draws)


def _recomputed_on_xla(function: Callable[..., Any], inputs: tuple[Any, ...], draws: bool) -> Any:
    """Use torch-xla's checkpoint: the compiler would undo PyTorch's.

    Its barrier against that is for arguments that are tensors, so it gets those inside of other inputs too.
    """
    from torch_xla.utils.checkpoint import checkpoint

    leaves, structure = tree_flatten(inputs)
    return checkpoint(lambda *leaves: function(*tree_unflatten(leaves, structure)), *leaves, preserve_rng_state=draws)
