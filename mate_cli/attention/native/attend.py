"""Attention by the compiled kernel: forward, backward, and what the kernel is told."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mate_cli.attention.counting import is_counting
from mate_cli.attention.dropout import Dropout
from mate_cli.attention.kernel import at_least_float
from mate_cli.attention.native.build import STORAGE, Library, library
from mate_cli.attention.native.plan import NativeGroup, NativePlan
from mate_cli.attention.pattern import Pattern

_counts: ContextVar[list[int] | None] = ContextVar("counts", default=None)


@contextmanager
def counting_flops() -> Iterator[list[int]]:
    """Collect the FLOPs of the matrix products of each call of the kernel."""
    counts: list[int] = []
    token = _counts.set(counts)
    try:
        yield counts
    finally:
        _counts.reset(token)


def attend_native(
    qkv: Tensor, plan: NativePlan, pattern: Pattern, dropout: Dropout | None = None, relative: Tensor | None = None
) -> Tensor:
    """See ``attend``; bf16 and fp16 are computed in fp32.

    Args:
        relative: ``[labels, hidden]``, vectors added to the keys by label, see ``mate_cli.attention.table_etc``.

    Raises:
        KernelUnavailable: the kernel cannot be built or loaded.
    """
    if qkv.dtype not in STORAGE:  # fp16
        return attend_native(qkv.float(), plan, pattern, dropout, relative).to(qkv.dtype)
    kernel = _Kernel(library(qkv.dtype, qkv.shape[1] // (3 * pattern.heads)), plan, pattern, dropout)
    vectors = None if relative is None else relative.to(qkv.dtype).contiguous()
    return _NativeAttention.apply(qkv.contiguous(), vectors, kernel)


class _NativeAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, relative: Tensor | None, kernel: _Kernel) -> Tensor:
        output = qkv.new_empty(len(qkv), qkv.shape[1] // 3)
        log_sums = qkv.new_empty(kernel.pattern.heads, len(qkv), dtype=at_least_float(qkv))
        kernel.call("mate_forward", relative, qkv, output, log_sums)
        ctx.kernel = kernel
        ctx.save_for_backward(qkv, relative, output, log_sums)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None]:
        qkv, relative, output, log_sums = ctx.saved_tensors
        kernel: _Kernel = ctx.kernel
        grad, sums = torch.empty_like(qkv), log_sums.new_empty(kernel.sums)
        of_labels = log_sums.new_zeros(kernel.parts_of(relative))
        kernel.call("mate_backward", relative, qkv, output, gradients[0].contiguous(), log_sums, grad, sums, of_labels)
        return grad, None if relative is None else _joined(of_labels, relative), None


def _joined(of_labels: Tensor, relative: Tensor) -> Tensor:
    """Sum ``[heads, chunks, labels, width]`` over the chunks; return it in the shape and dtype of ``relative``."""
    heads = len(of_labels)
    by_head = of_labels.sum(1)[..., : relative.shape[1] // heads]
    return by_head.transpose(0, 1).flatten(1).to(relative.dtype)


class _KernelGroup(ctypes.Structure):
    """``Group`` of ``kernel.cpp``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("order", "cells", "documents", "lines", "chunks")),
        *((name, ctypes.c_int32) for name in ("num_documents", "num_chunks", "num_sums", "heads", "radius")),
    ]


class _KernelBatch(ctypes.Structure):
    """``Batch`` of ``kernel.cpp``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("groups", "padding", "query_words", "key_words", "relative")),
        ("tokens", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("num_groups", "num_padding", "heads", "head_dim", "threads")),
        ("drop_below", ctypes.c_int32),
        ("kept", ctypes.c_double),
    ]


@dataclass(frozen=True)
class _Kernel:
    """A library and all that it is told of a batch but the tensors."""

    library: Library
    plan: NativePlan
    pattern: Pattern
    dropout: Dropout | None

    @property
    def sums(self) -> tuple[int, int]:
        """Shape of the space that ``mate_backward`` needs for sums."""
        return sum(plan.sums * heads for plan, heads in self._groups()), 3 * self.library.width

    def parts_of(self, relative: Tensor | None) -> tuple[int, ...]:
        """Shape of the gradients of the labels' vectors, ``[heads, chunks, labels, width]``."""
        if relative is None:
            return (0,)
        ((plan, heads),) = self._groups()
        return heads, len(plan.chunks), len(relative), self.library.width

    def call(self, function: str, relative: Tensor | None, qkv: Tensor, *others: Tensor) -> None:
        """Call a function of the library; the tensors are contiguous."""
        if is_counting():
            return
        groups = [_structure(plan, heads) for plan, heads in self._groups()]
        array = (_KernelGroup * len(groups))(*groups)
        batch = _KernelBatch(
            groups=ctypes.addressof(array),
            padding=self.plan.padding.data_ptr(),
            relative=0 if relative is None else relative.data_ptr(),
            tokens=len(qkv),
            num_groups=len(groups),
            num_padding=len(self.plan.padding),
            heads=self.pattern.heads,
            head_dim=qkv.shape[1] // (3 * self.pattern.heads),
            threads=torch.get_num_threads(),
        )
        if self.dropout is not None:
            query, key = self.dropout.query.contiguous(), self.dropout.key.contiguous()
            batch.query_words, batch.key_words = query.data_ptr(), key.data_ptr()
            batch.drop_below, batch.kept = self.dropout.threshold, 1 - self.dropout.rate
        if (counts := _counts.get()) is not None:
            products, of_labels = {"mate_forward": (2, 1), "mate_backward": (5, 3)}[function]
            pairs = sum(plan.pairs * heads for plan, heads in self._groups())
            labels = 0 if relative is None else relative.numel() * len(self.plan.groups[0].order)
            counts.append(2 * (products * pairs * batch.head_dim + of_labels * labels))
        compute = getattr(self.library.functions, function)
        compute(ctypes.byref(batch), *(tensor.data_ptr() for tensor in (qkv, *others)))

    def _groups(self) -> list[tuple[NativeGroup, int]]:
        """Return the plan and the number of heads of each head group."""
        own = self.pattern.groups
        return [(self.plan.groups[self.plan.kinds.index(group.kind)], group.heads) for group in own]


def _structure(plan: NativeGroup, heads: int) -> _KernelGroup:
    return _KernelGroup(
        order=plan.order.data_ptr(),
        cells=plan.cells.data_ptr(),
        documents=plan.documents.data_ptr(),
        lines=plan.lines.data_ptr(),
        chunks=plan.chunks.data_ptr(),
        num_documents=len(plan.documents),
        num_chunks=len(plan.chunks),
        num_sums=plan.sums,
        heads=heads,
        radius=plan.radius,
    )
