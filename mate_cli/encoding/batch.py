"""Packed batches: examples concatenated without padding, with the plan of their attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention import Layout, Plan, Planner
from mate_cli.encoding.features import TOKEN_TYPES

_PAD = 0  # in every BERT vocabulary
_TOKEN_TENSORS = ("input_ids", "token_types", "positions", "document", "cell", "header", "characters")
_EXAMPLE_TENSORS = ("label", "operator", "answer_value", "answer_span", "first")
_CELL_TENSORS = ("cell_document", "cell_row", "cell_column", "cell_header", "is_candidate", "cell_value")
_HEADER_TENSORS = ("header_document",)
_MASKED_TENSORS = ("masked", "target")


@dataclass(frozen=True)
class Batch:
    """A packed micro-batch.

    Attributes:
        input_ids: int64 ``[tokens]``.
        token_types: int64 ``[tokens, 7]`` in the order of ``TOKEN_TYPES``; rows and columns are not clamped.
        positions: int64 ``[tokens]``.
        document: int64 ``[tokens]``, number of the example in the batch.
        cell: int64 ``[tokens]``, number of the body cell in the batch; -1 in questions, headers and histogram rows.
        header: int64 ``[tokens]``, number of the header cell in the batch, one for each column; -1 elsewhere.
        cell_document, cell_row, cell_column: int64 ``[cells]``; rows and columns of the body from 0.
        cell_header: int64 ``[cells]``, header of each body cell; header_document: int64 ``[headers]``.
        is_candidate: bool ``[cells]``.
        cell_value: float32 ``[cells]``, the cell's number; NaN if it has none.
        answer_value: float32 ``[examples]``, the answer as a number; NaN if it is not one, or unknown.
        label: int64 ``[examples]``, of statements: 1 entailed, 0 refuted; -1 if unknown.
        operator: int64 ``[examples]``, of questions: place in ``tables.aggregation.OPERATORS``; -1 if unknown,
            ``NO_ANSWER`` if the table does not answer.
        first: int64 ``[examples]``, first token of each example.
        answer_span: int64 ``[examples, 2]``, first and last token of the answer in this batch; -1 if unknown.
        characters: int64 ``[tokens, 2]``, characters of each token's word in the text of its cell; ``[0, 2]`` for rows
            without spans.
        masked: int64 ``[masked]``, the tokens of this batch to predict; target: int64 ``[masked]``, their original ids;
            both empty in other tasks; num_masked: their number.
        ids: ids of the examples.
        plan: input of the attention backend.
        texts: text of each cell, ``[cells]``; answers: answers of each example; both empty for rows without spans.
    """

    input_ids: Tensor
    token_types: Tensor
    positions: Tensor
    document: Tensor
    cell: Tensor
    header: Tensor
    cell_document: Tensor
    cell_row: Tensor
    cell_column: Tensor
    cell_header: Tensor
    header_document: Tensor
    is_candidate: Tensor
    cell_value: Tensor
    answer_value: Tensor
    label: Tensor
    operator: Tensor
    first: Tensor
    answer_span: Tensor
    characters: Tensor
    masked: Tensor
    target: Tensor
    num_masked: int
    ids: list[str]
    plan: Plan
    texts: list[str]
    answers: list[tuple[str, ...]]

    @property
    def encoder_inputs(self) -> dict[str, Any]:
        """Arguments of every model, by name, without those of its head."""
        return {name: getattr(self, name) for name in ("input_ids", "token_types", "positions", "plan")}

    @property
    def text(self) -> Tensor:
        """The document of each token of a question, int64 ``[tokens]``; -1 in tables and at [PAD]."""
        return torch.where((self.token_types[:, 0] == 0) & (self.input_ids != _PAD), self.document, -1)

    def to(self, device: torch.device | str, non_blocking: bool = True) -> Self:
        """Move the batch to a device."""
        moved: dict[str, Any] = {name: value.to(device, non_blocking=non_blocking) for name, value in self.tensors()}
        return replace(self, plan=self.plan.to(device), **moved)

    def on_host(self) -> Self:
        """Move the batch to main memory, without its filler, to read it beside predictions; the plan does not move.

        Scores of a batch with filler are longer than this batch: ignore their ends.
        """
        host: dict[str, Any] = {name: value.cpu() for name, value in self.tensors()}
        lengths = dict.fromkeys(_EXAMPLE_TENSORS, len(self.ids)) | dict.fromkeys(_MASKED_TENSORS, self.num_masked)
        for document, names in (
            ("document", _TOKEN_TENSORS),
            ("cell_document", _CELL_TENSORS),
            ("header_document", _HEADER_TENSORS),
        ):
            lengths |= dict.fromkeys(names, int((host[document] < len(self.ids)).sum()))
        return replace(self, **host | {name: host[name][:length] for name, length in lengths.items()})

    def pin_memory(self) -> Self:
        """Copy the batch to page-locked memory; called by the data loader."""
        pinned: dict[str, Any] = {name: value.pin_memory() for name, value in self.tensors()}
        return replace(self, plan=self.plan.pin_memory(), **pinned)

    def tensors(self) -> list[tuple[str, Tensor]]:
        """List its tensors by name, without those of the plan."""
        values = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in values if isinstance(value, Tensor)]


def layout_of(rows: Sequence[Mapping[str, Any]]) -> Layout:
    """Return the layout of packed rows (``encode.row_of``)."""
    document = np.repeat(np.arange(len(rows)), [len(row["input_ids"]) for row in rows])
    row, column, segment = (_joined(rows, name).astype(np.int64) for name in ("row", "column", "segment"))
    return Layout(document, row, column, segment)


class Collator:
    """Converts rows of the cache to a ``Batch``; runs, with the planning, in the workers of the data loader.

    Args:
        planner: makes the plan of the model's attention.
    """

    def __init__(self, planner: Planner) -> None:
        self.planner = planner

    def layout(self, rows: Sequence[Mapping[str, Any]]) -> Layout:
        """Return the layout of the rows for the planner."""
        return layout_of(rows)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        """Concatenate one or more rows (``encode.row_of``)."""
        lengths = [len(row["input_ids"]) for row in rows]
        starts = np.cumsum([0, *lengths[:-1]])
        document = np.repeat(np.arange(len(rows)), lengths)
        types = np.empty((len(document), len(TOKEN_TYPES)), dtype=np.int64)
        for number, name in enumerate(TOKEN_TYPES):
            types[:, number] = _joined(rows, name)
        segment, column, row = types[:, 0], types[:, 1], types[:, 2]
        cell, first = _number_cells(document, row, column, (segment == 1) & (row > 0))
        header, header_first = _number_cells(document, row, column, (segment == 1) & (row == 0))
        header_of = np.full((len(rows), column.max() + 1), -1)
        header_of[document[header_first], column[header_first]] = np.arange(len(header_first))
        masked, target = _masked(rows, starts)
        return Batch(
            input_ids=torch.from_numpy(_joined(rows, "input_ids").astype(np.int64)),
            token_types=torch.from_numpy(types),
            positions=torch.from_numpy(_joined(rows, "position").astype(np.int64)),
            document=torch.from_numpy(document),
            cell=torch.from_numpy(cell),
            header=torch.from_numpy(header),
            cell_document=torch.from_numpy(document[first]),
            cell_row=torch.from_numpy(row[first] - 1),
            cell_column=torch.from_numpy(column[first] - 1),
            cell_header=torch.from_numpy(header_of[document[first], column[first]]),
            header_document=torch.from_numpy(document[header_first]),
            is_candidate=torch.from_numpy(_joined(rows, "labels")[first] > 0),
            # Truncation keeps the first word of every cell, so these are all cells of the kept columns, row-major.
            cell_value=torch.from_numpy(_joined(rows, "cell_value").astype(np.float32)),
            answer_value=torch.tensor([float(row["answer_value"]) for row in rows]),
            label=torch.tensor([int(row["label"]) for row in rows]),
            operator=torch.tensor([int(row["operator"]) for row in rows]),
            first=torch.from_numpy(starts),
            answer_span=torch.from_numpy(_answer_spans(rows, starts)),
            characters=torch.from_numpy(_characters(rows)),
            masked=torch.from_numpy(masked),
            target=torch.from_numpy(target),
            num_masked=len(target),
            ids=[str(row["id"]) for row in rows],
            plan=self.planner(self.layout(rows)),
            texts=[str(text) for row in rows for text in row.get("texts", ())],
            answers=[tuple(map(str, row.get("answers", ()))) for row in rows],
        )


def _joined(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    return np.concatenate([np.asarray(row[name]) for row in rows])


def _answer_spans(rows: Sequence[Mapping[str, Any]], starts: np.ndarray) -> np.ndarray:
    spans = np.array([(row.get("span_first", -1), row.get("span_last", -1)) for row in rows], dtype=np.int64)
    return np.where(spans >= 0, spans + starts[:, None], -1)


def _characters(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    if "char_start" not in rows[0]:
        return np.zeros((0, 2), dtype=np.int64)
    return np.stack([_joined(rows, "char_start"), _joined(rows, "char_end")], axis=1).astype(np.int64)


def _masked(rows: Sequence[Mapping[str, Any]], starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the masked tokens of the batch and their targets, int64 ``[masked]``; empty in other tasks."""
    if "masked" not in rows[0]:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    masked = [np.asarray(row["masked"], np.int64) + start for row, start in zip(rows, starts, strict=True)]
    return np.concatenate(masked), _joined(rows, "target").astype(np.int64)


def _number_cells(
    document: np.ndarray, row: np.ndarray, column: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of each token, -1 outside those that count, and the first token of each cell that does.

    The tokens of a cell are neighbours, and no two neighbouring cells share row, column and document.

    Args:
        counts: bool ``[tokens]``, tokens of the cells to number.
    """
    changes = np.ones(len(row), dtype=bool)
    changes[1:] = (np.diff(row) != 0) | (np.diff(column) != 0) | (np.diff(document) != 0)
    is_first = changes & counts
    return np.where(counts, np.cumsum(is_first) - 1, -1), np.flatnonzero(is_first)
