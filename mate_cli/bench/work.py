"""A contender at a point, ready to be called, and the budget that leaves out calls which are too slow or too large."""

from __future__ import annotations

import os

import torch
from torch import nn

from mate_cli.attention import Layout
from mate_cli.bench.contenders import DTYPES, Contender
from mate_cli.bench.flops import attention_flops, linear_flops
from mate_cli.bench.point import Point, documents
from mate_cli.system.memory import GIB

# Bytes of states that live at once, over those of one state: in a forward pass, and per layer in training.
_FORWARD_STATES, _TRAINING_STATES = 16, 18

# Share of the free memory to use: estimates are rough, and other programs need some.
_MEMORY_SHARE = 0.75


class Work:
    """One call is a forward pass, in training with the backward pass; it returns when the device is done."""

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
        """Number of tokens computed, padding included."""
        return self.inputs.states.numel() // self.point.dimensions.hidden

    def flops(self, *, needed: bool = False, weight: float = 1.0) -> float | None:
        """Return the FLOPs by formula, of the computation or of what the pattern needs; None if not known.

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
        """Estimate the memory of a call in bytes."""
        states = _TRAINING_STATES * self.point.layers if self.point.is_training else _FORWARD_STATES
        state = self.tokens * self.point.dimensions.hidden * DTYPES[self.point.dtype].itemsize
        return state * states + self.inputs.quadratic_bytes

    def estimated_time(self) -> float | None:
        """Estimate the time of a call in units of one FLOP of a matrix product."""
        return self.flops(weight=self.contender.slowness)


def make_encoder(contender: Contender, point: Point) -> nn.Module:
    """Make the contender's encoder with random weights, the same ones every time."""
    torch.manual_seed(point.seed)
    return contender.encoder(point).to(point.device, DTYPES[point.dtype]).train(point.dropout > 0)


def make_work(contender: Contender, point: Point) -> Work:
    """Make encoder, tables and plan of a contender at a point."""
    return Work(contender, point, make_encoder(contender, point), documents(point))


class Budget:
    """Estimates calls from their FLOPs and from the speed of earlier calls.

    Args:
        call_seconds: longest time of a call.
        memory: GiB a call may take; None for three quarters of the device's free memory.
    """

    def __init__(self, call_seconds: float, memory: float | None, device: str) -> None:
        self.call_seconds = call_seconds
        self.memory = _MEMORY_SHARE * _free_bytes(device) / GIB if memory is None else memory
        self._pace: dict[tuple[str, str, str], float] = {}

    def refusal(self, work: Work) -> str | None:
        """Return the reason not to try a call, or None."""
        gibibytes = work.estimated_bytes() / GIB
        if gibibytes > self.memory:
            return f"would take about {gibibytes:.1f} GiB, and {self.memory:.1f} are available"
        time, pace = work.estimated_time(), self._pace.get(_kind(work))
        if time is not None and pace is not None and time * pace > self.call_seconds:
            return f"a call would take about {time * pace:.0f} s, over call_seconds={self.call_seconds:g}"
        return None

    def record(self, work: Work, seconds: float) -> str | None:
        """Learn from a call; return the reason to make no more of it, or None."""
        time = work.estimated_time()
        if time:
            self._pace[_kind(work)] = min(seconds / time, self._pace.get(_kind(work), float("inf")))
        if seconds > self.call_seconds:
            return f"a call took {seconds:.0f} s, over call_seconds={self.call_seconds:g}"
        return None


def _kind(work: Work) -> tuple[str, str, str]:
    """Return what calls of one pace share."""
    return work.point.size, work.point.mode, work.point.dtype


def _free_bytes(device: str) -> int:
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
