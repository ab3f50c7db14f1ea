"""A contender at a point, ready to be called."""

from __future__ import annotations

import torch
from torch import nn

from mate_cli.attention import Layout
from mate_cli.bench.contenders import DTYPES, Contender
from mate_cli.bench.flops import attention_flops, linear_flops
from mate_cli.bench.layouts import documents
from mate_cli.bench.point import Point

# Bytes of states that live at once, over those of one state: in a forward pass, and per layer in training.
_FORWARD_STATES, _TRAINING_STATES = 16, 18


class Work:
    """One call is one forward pass, in training the backward pass too; it returns when the device is done."""

    def __init__(self, contender: Contender, point: Point, encoder: nn.Module, tables: list[Layout]) -> None:
        self.contender, self.point, self.encoder = contender, point, encoder
        self.inputs = contender.inputs(point, tables)
        self._gradient = torch.ones_like(self.inputs.states) if point.is_training else None

    def reset(self) -> None:
        """Drop the gradients of the last call; not to be timed."""
        self.encoder.zero_grad(set_to_none=True)
        self.inputs.states.grad = None

    def __call__(self) -> None:
        with torch.set_grad_enabled(self.point.is_training):
            states = self.encoder(self.inputs.states, self.inputs.argument)
        if self.point.is_training:
            states.backward(self._gradient)
        if self.point.device == "cuda":
            torch.cuda.synchronize()

    @property
    def tokens(self) -> int:
        """Tokens that are computed, padding included."""
        return self.inputs.states.numel() // self.point.dimensions.hidden

    def flops(self, *, needed: bool = False, weight: float = 1.0) -> float | None:
        """FLOPs by formula: of what is computed, or of what the pattern needs; None where that is not known.

        ``weight`` multiplies those of the attention.
        """
        inputs = self.inputs
        pairs = inputs.needed if needed else inputs.pairs
        if pairs is not None:
            attention = attention_flops(self.point, pairs, self.contender.backward)
        elif inputs.products and not needed:
            passes = [1 + part.backward if self.point.is_training else 1 for part in inputs.products]
            attention = sum(part.forward * times for part, times in zip(inputs.products, passes, strict=True))
        else:
            return None
        return linear_flops(self.point, self.tokens) + weight * attention

    def estimated_bytes(self) -> int:
        """Memory of a call, roughly."""
        states = _TRAINING_STATES * self.point.layers if self.point.is_training else _FORWARD_STATES
        one = self.point.dimensions.hidden * DTYPES[self.point.dtype].itemsize
        return self.tokens * one * states + self.inputs.quadratic_bytes

    def estimated_time(self) -> float | None:
        """Time of a call in units of one FLOP of a matrix product, roughly."""
        return self.flops(weight=self.contender.slowness)


def make_encoder(contender: Contender, point: Point) -> nn.Module:
    """The contender's encoder with random weights, the same ones every time."""
    torch.manual_seed(point.seed)
    return contender.encoder(point).to(point.device, DTYPES[point.dtype]).eval()


def make_work(contender: Contender, point: Point) -> Work:
    """Encoder, tables and plan of a contender at a point."""
    return Work(contender, point, make_encoder(contender, point), documents(point))
