"""Plans: what an attention backend needs to know of a batch, made once from integer arrays, used by all layers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.pattern import Kind
from mate_cli.attention.shape import FILLER, FixedShape


@dataclass(frozen=True)
class Layout:
    """The tokens of a packed batch, integer arrays ``[tokens]``.

    Attributes:
        document: 0 .. documents-1, each one unbroken run in this order; -1 for padding, which belongs to no
            document: it is never a key, its output and its gradient are zero.
        row, column: true, unclamped indices; both 0 in the question, both ``FILLER`` in the tokens that bring a
            document to the length of ``shape``: only they themselves ever see those.
        segment: 0 in the question (with [CLS] and [SEP]), else in the table; the header has row 0.
        shape: what the plan's sizes are to be; None where they follow from the batch.
    """

    document: np.ndarray
    row: np.ndarray
    column: np.ndarray
    segment: np.ndarray
    shape: FixedShape | None = None

    @property
    def is_real(self) -> np.ndarray:
        """Which tokens are in a document and no filler, bool ``[tokens]``."""
        return (self.document >= 0) & (self.row != FILLER)

    def without_filler(self) -> Layout:
        """The same with padding in its place."""
        return replace(self, document=np.where(self.is_real, self.document, -1), shape=None)

    def spans(self) -> np.ndarray:
        """First token and end of each document, int64 ``[documents, 2]``.

        Raises:
            ValueError: a document is not one run, or out of order.
        """
        inside = np.flatnonzero(self.document >= 0)
        number = self.document[inside]
        if (np.diff(number) < 0).any():
            raise ValueError("documents are not in order")
        firsts = np.flatnonzero(np.r_[True, np.diff(number) != 0]) if len(inside) else np.array([], np.int64)
        lasts = np.r_[firsts[1:], len(inside)][: len(firsts)] - 1
        spans = np.stack([inside[firsts], inside[lasts] + 1], axis=1) if len(inside) else np.zeros((0, 2), np.int64)
        if (spans[:, 1] - spans[:, 0]).sum() != len(inside):
            raise ValueError("a document is broken by padding")
        return spans


@dataclass(frozen=True)
class Plan:
    """What one backend needs of one batch; tensors and numbers only, so that loader workers can send it.

    Attributes:
        tokens: length of the packed batch.
    """

    backend: ClassVar[str]
    tokens: int

    @property
    def exact(self) -> bool:
        """Whether the result is that of the dense mask."""
        return True

    @property
    def coverage(self) -> dict[Kind, float]:
        """Share of the pairs of table tokens in one line that attend to each other; only what is less than all."""
        return {}

    def to(self, device: torch.device | str) -> Self:
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Self:
        return self._map(Tensor.pin_memory)

    def _map(self, change: Any) -> Self:
        return replace(self, **{f.name: _map_tensors(getattr(self, f.name), change) for f in fields(self) if f.init})


def _map_tensors(value: Any, change: Any) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple):
        parts = [_map_tensors(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@dataclass(frozen=True)
class DocumentPlan(Plan):
    """For backends that go document by document.

    Attributes:
        pieces: lengths that cut the batch into documents and the padding between them.
        is_document: which pieces are documents.
        row, column, segment: int64 ``[tokens]``.
        filled_up: whether documents have filler.
    """

    pieces: tuple[int, ...]
    is_document: tuple[bool, ...]
    row: Tensor
    column: Tensor
    segment: Tensor
    filled_up: bool


def document_plan(kind_of_plan: type[DocumentPlan], layout: Layout, kinds: tuple[Kind, ...]) -> DocumentPlan:
    """Cut the batch at the document borders."""
    del kinds
    pieces: list[int] = []
    is_document: list[bool] = []
    position = 0
    for start, end in layout.spans().tolist():
        if start > position:
            pieces.append(start - position)
            is_document.append(False)
        pieces.append(end - start)
        is_document.append(True)
        position = end
    if position < len(layout.document):
        pieces.append(len(layout.document) - position)
        is_document.append(False)
    arrays = (layout.row, layout.column, layout.segment)
    row, column, segment = (torch.from_numpy(array.astype(np.int64)) for array in arrays)
    parts = (tuple(pieces), tuple(is_document))
    return kind_of_plan(len(layout.document), *parts, row, column, segment, layout.shape is not None)
