"""Dropout of features by the compiled kernel, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mate_cli.attention.counting import is_counting
from mate_cli.attention.native.build import STORAGE, dropout_library


def can_drop(states: Tensor) -> bool:
    """Say whether the kernel takes these states; builds it if need be."""
    on_cpu = states.device.type == "cpu" and not is_counting()
    return on_cpu and states.dtype in STORAGE and dropout_library() is not None


def drop_by_words(states: Tensor, words: Tensor, drop_below: int, factor: float) -> Tensor:
    """Multiply features by ``factor``, and by 0 those whose hash is below a limit.

    Keeps the words for the backward pass, not the factors of all features.

    Args:
        states: ``[tokens, features]``, of a dtype of ``STORAGE``.
        words: int32 ``[tokens + features]``, of the tokens and of the features.
    """
    return _Dropped.apply(states, words, drop_below, factor)


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, words: Tensor, drop_below: int, factor: float) -> Tensor:
        ctx.save_for_backward(words)
        ctx.limits = drop_below, factor
        return _dropped(states, words, drop_below, factor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (words,) = ctx.saved_tensors
        return _dropped(gradients[0], words, *ctx.limits), None, None, None


def _dropped(states: Tensor, words: Tensor, drop_below: int, factor: float) -> Tensor:
    tokens, features = states.shape
    states, words = states.contiguous(), words.contiguous()
    result = torch.empty_like(states)
    function = getattr(dropout_library(), f"drop_{STORAGE[states.dtype]}")
    pointers = states.data_ptr(), words.data_ptr(), words[tokens:].data_ptr()
    function(*pointers, tokens, features, drop_below, factor, torch.get_num_threads(), result.data_ptr())
    return result
