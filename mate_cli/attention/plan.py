"""The layout of a packed batch, its tokens sorted by row or column, and the plans that backends make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.pattern import Kind

FILLER = -1
"""Row and column of the tokens that bring a document to its fixed length."""


@dataclass(frozen=True)
class FixedShape:
    """Sizes that all batches of a run share, for devices that compile a program for each shape.

    Attributes:
        documents: number of documents in a batch, empty ones included.
        tokens: length of every document, filler included.
        question: most question tokens of a document.
        row_window, column_window: most places that a block of sorted tokens sees (``mate_cli.attention.blocks``).
    """

    documents: int
    tokens: int
    question: int
    row_window: int
    column_window: int

    def window(self, kind: Kind) -> int:
        return self.row_window if kind == "row" else self.column_window


def widest_shape(documents: int, tokens: int) -> FixedShape:
    """Return the shape that holds any batch of so many documents: a question or a line may be a whole document."""
    return FixedShape(documents, tokens, tokens, tokens, tokens)


@dataclass(frozen=True)
class Layout:
    """The tokens of a packed batch, integer arrays ``[tokens]``.

    Attributes:
        document: 0 .. documents-1, each one unbroken run in this order; -1 for padding, which belongs to no
            document: it is never a key, its output and its gradient are zero.
        row, column: true, unclamped indices; both 0 in the question, both ``FILLER`` in the tokens that bring a
            document to the length of ``shape`` and are seen by other filler alone.
        segment: 0 in the question (with [CLS] and [SEP]), else in the table; the header has row 0.
        shape: the sizes of the plan; None if they follow from the batch.
    """

    document: np.ndarray
    row: np.ndarray
    column: np.ndarray
    segment: np.ndarray
    shape: FixedShape | None = None

    @property
    def is_real(self) -> np.ndarray:
        """Mark the tokens that are neither padding nor filler, bool ``[tokens]``."""
        return (self.document >= 0) & (self.row != FILLER)

    def without_filler(self) -> Layout:
        """Return the layout with filler turned into padding."""
        return replace(self, document=np.where(self.is_real, self.document, -1), shape=None)

    def place(self) -> Tensor:
        """Name each token by its document and place in it, however the batch is laid out, int32 ``[tokens]``.

        The document counts in the upper 16 bits. Padding is -1.
        """
        inside = np.flatnonzero(self.document >= 0)
        number = self.document[inside].astype(np.int32)
        place = np.full(len(self.document), -1, np.int32)
        place[inside] = (number << 16) + ranks(run_lengths(run_starts(number), len(inside)))
        return torch.from_numpy(place)

    def spans(self) -> np.ndarray:
        """Return the first token and the end of each document, int64 ``[documents, 2]``.

        Raises:
            ValueError: a document is not one run, or out of order.
        """
        inside = np.flatnonzero(self.document >= 0)
        number = self.document[inside]
        if (np.diff(number) < 0).any():
            raise ValueError("documents are not in order")
        starts = run_starts(number)
        ends = starts + run_lengths(starts, len(inside))
        spans = np.stack([inside[starts], inside[ends - 1] + 1], axis=1)
        if (spans[:, 1] - spans[:, 0]).sum() != len(inside):
            raise ValueError("a document is broken by padding")
        return spans

    def pieces(self) -> tuple[int, ...]:
        """Return the lengths of padding, document, padding, document, ..., padding; some padding has length 0."""
        return tuple(np.diff(np.r_[0, self.spans().reshape(-1), len(self.document)]).tolist())


def run_starts(*keys: np.ndarray) -> np.ndarray:
    """Return the first index of each run in which no key ``[n]`` changes, int64 ``[runs]``."""
    changes = np.any([np.diff(key) != 0 for key in keys], axis=0)
    return np.flatnonzero(np.r_[len(keys[0]) > 0, changes])


def run_lengths(starts: np.ndarray, size: int) -> np.ndarray:
    """Return the lengths of the runs that begin at ``starts`` and cover ``size`` places, int64 ``[runs]``."""
    return np.diff(np.r_[starts, size])


def ranks(counts: np.ndarray) -> np.ndarray:
    """Return 0 .. count - 1 for each of ``counts``, one after another, int64 ``[sum of counts]``."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def padded_rows(values: np.ndarray, counts: np.ndarray, width: int, empty: int) -> np.ndarray:
    """Cut ``values`` into rows of ``counts`` values and fill them up with ``empty``, int64 ``[rows, width]``."""
    rows = np.full((len(counts), width), empty)
    rows[np.repeat(np.arange(len(counts)), counts), ranks(counts)] = values
    return rows


def gather_index(places: np.ndarray, empty: int) -> Tensor:
    """Flatten places to an index for gathering, with token 0 in the empty ones, int64 ``[places]``."""
    return torch.from_numpy(np.where(places < empty, places, 0).reshape(-1))


def gather_blocks(rows: Tensor, index: Tensor, blocks: int) -> Tensor:
    """Gather ``[tokens, heads, n]`` to ``[blocks, heads, places, n]``; ``index``: int64 ``[blocks * places]``."""
    return rows.index_select(0, index).unflatten(0, (blocks, -1)).transpose(1, 2)


class SortedTokens(NamedTuple):
    """The tokens of a packed batch in the order of document and line, as the heads of one kind see them.

    Attributes:
        tokens: int64 ``[real tokens]``, by document, then line, then place; the question of a document is first.
        document, rank: int64 ``[real tokens]``, document of each of ``tokens`` and number within it.
        line, is_question: ``[all tokens]``, by token: row or column (0 in the question) and whether it is in the
            question. ``FILLER`` is the last line and seen by filler alone.
    """

    tokens: np.ndarray
    document: np.ndarray
    rank: np.ndarray
    line: np.ndarray
    is_question: np.ndarray

    def allowed(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Say which tokens of one document attend to each other, bool; broadcasts. ``len(line)`` means no token."""
        line, question, none = np.r_[self.line, FILLER], np.r_[self.is_question, False], len(self.line)
        pairs = (line[queries] == line[keys]) | (question[queries] & (line[keys] != FILLER)) | question[keys]
        return pairs & (queries < none) & (keys < none)


def sort_by_line(kind: Kind, layout: Layout) -> SortedTokens:
    """Sort by row for row heads, by column for column heads; ties keep their order (docs/notes.md, note 14)."""
    line = layout.row if kind == "row" else layout.column
    is_question = layout.segment == 0
    real = np.flatnonzero(layout.document >= 0)
    sorted_line = np.where(line == FILLER, np.iinfo(line.dtype).max, line)
    tokens = real[np.lexsort((~is_question[real], sorted_line[real], layout.document[real]))]
    document = layout.document[tokens]
    rank = ranks(run_lengths(run_starts(document), len(tokens)))
    return SortedTokens(tokens, document, rank, line, is_question)


@dataclass(frozen=True)
class Plan:
    """The indices and masks that one backend needs for a batch, made once from integer arrays for all layers.

    Tensors and numbers only, so that loader workers can send it.

    Attributes:
        place: of each token of the packed batch, int32 ``[tokens]``, see ``Layout.place``.
    """

    backend: ClassVar[str]
    place: Tensor

    @property
    def tokens(self) -> int:
        return len(self.place)

    @property
    def exact(self) -> bool:
        """True if the result equals that of the dense mask."""
        return True

    @property
    def coverage(self) -> dict[Kind, float]:
        """Share of the pairs of table tokens in one line that attend to each other; only shares below 1 are listed."""
        return {}

    def to(self, device: torch.device | str) -> Self:
        return self.mapped(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Self:
        return self.mapped(Tensor.pin_memory)

    def mapped(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the plan with each tensor changed."""
        return replace(self, **{f.name: _map_tensors(getattr(self, f.name), change) for f in fields(self) if f.init})

    def tensors(self) -> list[Tensor]:
        """Return the tensors, in the order in which ``mapped`` takes them."""
        found: list[Tensor] = []

        def keep(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        self.mapped(keep)
        return found


def _map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple):
        parts = [_map_tensors(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@dataclass(frozen=True)
class DocumentPlan(Plan):
    """A plan for backends that compute one document at a time.

    Attributes:
        pieces: lengths of the documents and of the padding between them.
        is_document: which pieces are documents.
        row, column, segment: int64 ``[tokens]``.
        has_filler: whether documents may contain filler.
    """

    pieces: tuple[int, ...]
    is_document: tuple[bool, ...]
    row: Tensor
    column: Tensor
    segment: Tensor
    has_filler: bool


def document_plan(plan_class: type[DocumentPlan], layout: Layout) -> DocumentPlan:
    """Cut the batch at the document borders."""
    pieces = [(length, number % 2 == 1) for number, length in enumerate(layout.pieces()) if length]
    arrays = (layout.row, layout.column, layout.segment)
    row, column, segment = (torch.from_numpy(array.astype(np.int64)) for array in arrays)
    return plan_class(
        place=layout.place(),
        pieces=tuple(length for length, _ in pieces),
        is_document=tuple(is_document for _, is_document in pieces),
        row=row,
        column=column,
        segment=segment,
        has_filler=layout.shape is not None,
    )
