"""Packed batches: examples one after another without padding, with the plan of their attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention import Layout, Plan, Planner
from mate_cli.encoding.features import TOKEN_TYPES

_PAD = 0  # in every vocabulary of BERT
_OF_EXAMPLES = ("label", "answer_value", "answer_span", "first")
_OF_CELLS = ("cell_document", "cell_row", "cell_column", "is_candidate", "cell_value")
_OF_MASKED = ("masked", "target")


@dataclass(frozen=True)
class Batch:
    """A packed micro-batch.

    Attributes:
        input_ids: int64 ``[tokens]``.
        token_types: int64 ``[tokens, 7]`` in the order of ``TOKEN_TYPES``; rows and columns unclamped.
        positions: int64 ``[tokens]``.
        document: int64 ``[tokens]``, which example of the batch.
        cell: int64 ``[tokens]``, which of the batch's body cells; -1 in questions, headers and histogram rows.
        cell_document, cell_row, cell_column: int64 ``[cells]``; rows and columns of the body from 0.
        is_candidate: bool ``[cells]``.
        cell_value: float32 ``[cells]``, the cell's number; NaN where it has none.
        answer_value: float32 ``[examples]``, the answer as a number; NaN where it is none or not known.
        label: int64 ``[examples]``, 1 entailed, 0 refuted, -1 where there is none.
        first: int64 ``[examples]``, the first token of each.
        answer_span: int64 ``[examples, 2]``, first and last token of the answer in this batch; -1 where not known.
        characters: int64 ``[tokens, 2]``, the characters of each token's word in the text of its cell; rows without
            spans have none, ``[0, 2]``.
        masked: int64 ``[masked]``, the tokens of this batch that are to be predicted; target: what they were, likewise;
            both empty in rows of other tasks; num_masked: how many they are.
        ids: the ids of the examples.
        plan: what the attention backend needs.
        texts: the text of each cell, ``[cells]``, and answers, those of each example; empty where rows have no spans.
    """

    input_ids: Tensor
    token_types: Tensor
    positions: Tensor
    document: Tensor
    cell: Tensor
    cell_document: Tensor
    cell_row: Tensor
    cell_column: Tensor
    is_candidate: Tensor
    cell_value: Tensor
    answer_value: Tensor
    label: Tensor
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
        """What every model reads, by the names of its arguments; what its head needs comes beside it."""
        return {name: getattr(self, name) for name in ("input_ids", "token_types", "positions", "plan")}

    @property
    def text(self) -> Tensor:
        """The document of each token of a text, int64 ``[tokens]``; -1 in tables and where [PAD] fills up."""
        return torch.where((self.token_types[:, 0] == 0) & (self.input_ids != _PAD), self.document, -1)

    def to(self, device: torch.device | str, non_blocking: bool = True) -> Self:
        """The same batch on another device."""
        moved: dict[str, Any] = {name: value.to(device, non_blocking=non_blocking) for name, value in self._tensors()}
        return replace(self, plan=self.plan.to(device), **moved)

    def on_host(self) -> Self:
        """The same batch where it is read with a prediction: in main memory, without what fills it up; not its plan.

        Scores of a filled-up batch have more at their end than this one has cells, examples and masked tokens.
        """
        host: dict[str, Any] = {name: value.cpu() for name, value in self._tensors()}
        examples, cells = len(self.ids), int((host["cell_document"] < len(self.ids)).sum())
        for length, names in ((examples, _OF_EXAMPLES), (cells, _OF_CELLS), (self.num_masked, _OF_MASKED)):
            host.update({name: host[name][:length] for name in names})
        return replace(self, **host)

    def pin_memory(self) -> Self:
        """The same batch in page-locked memory; the data loader calls this."""
        pinned: dict[str, Any] = {name: value.pin_memory() for name, value in self._tensors()}
        return replace(self, plan=self.plan.pin_memory(), **pinned)

    def _tensors(self) -> list[tuple[str, Tensor]]:
        values = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, value) for name, value in values if isinstance(value, Tensor)]


def layout_of(rows: Sequence[Mapping[str, Any]]) -> Layout:
    """The layout of rows as ``row_of`` gives them, packed in their order."""
    document = np.repeat(np.arange(len(rows)), [len(row["input_ids"]) for row in rows])
    row, column, segment = (_joined(rows, name).astype(np.int64) for name in ("row", "column", "segment"))
    return Layout(document, row, column, segment)


class Collator:
    """Rows of the cache to a ``Batch``; runs, with the planning, in the workers of the data loader.

    Args:
        planner: makes the plan that the model's attention takes.
    """

    def __init__(self, planner: Planner) -> None:
        self.planner = planner

    def layout(self, rows: Sequence[Mapping[str, Any]]) -> Layout:
        """What the planner sees of the rows."""
        return layout_of(rows)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        """Concatenate rows as ``row_of`` gives them, one or more."""
        lengths = [len(row["input_ids"]) for row in rows]
        document = np.repeat(np.arange(len(rows)), lengths)
        types = np.empty((len(document), len(TOKEN_TYPES)), dtype=np.int64)
        for number, name in enumerate(TOKEN_TYPES):
            types[:, number] = _joined(rows, name)
        segment, column, row = types[:, 0], types[:, 1], types[:, 2]
        cell, first = _number_cells(document, row, column, segment)
        return Batch(
            input_ids=torch.from_numpy(_joined(rows, "input_ids").astype(np.int64)),
            token_types=torch.from_numpy(types),
            positions=torch.from_numpy(_joined(rows, "position").astype(np.int64)),
            document=torch.from_numpy(document),
            cell=torch.from_numpy(cell),
            cell_document=torch.from_numpy(document[first]),
            cell_row=torch.from_numpy(row[first] - 1),
            cell_column=torch.from_numpy(column[first] - 1),
            is_candidate=torch.from_numpy(_joined(rows, "labels")[first] > 0),
            # Truncation leaves every cell its first word: the cells here are all of the kept columns, row-major.
            cell_value=torch.from_numpy(_joined(rows, "cell_value").astype(np.float32)),
            answer_value=torch.tensor([float(row["answer_value"]) for row in rows]),
            label=torch.tensor([int(row["label"]) for row in rows]),
            first=torch.from_numpy(_starts(lengths)),
            answer_span=torch.from_numpy(_answer_spans(rows, lengths)),
            characters=torch.from_numpy(_characters(rows)),
            masked=torch.from_numpy(_masked(rows, lengths)),
            target=torch.from_numpy(_targets(rows)),
            num_masked=sum(len(row.get("target", ())) for row in rows),
            ids=[str(row["id"]) for row in rows],
            plan=self.planner(self.layout(rows)),
            texts=[str(text) for row in rows for text in row.get("texts", ())],
            answers=[tuple(map(str, row.get("answers", ()))) for row in rows],
        )


def _starts(lengths: Sequence[int]) -> np.ndarray:
    return np.cumsum([0, *lengths[:-1]])


def _joined(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    return np.concatenate([np.asarray(row[name]) for row in rows])


def _answer_spans(rows: Sequence[Mapping[str, Any]], lengths: Sequence[int]) -> np.ndarray:
    spans = np.array([(row.get("span_first", -1), row.get("span_last", -1)) for row in rows], dtype=np.int64)
    starts = _starts(lengths)
    return np.where(spans >= 0, spans + starts[:, None], -1)


def _characters(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    if "char_start" not in rows[0]:
        return np.zeros((0, 2), dtype=np.int64)
    return np.stack([_joined(rows, "char_start"), _joined(rows, "char_end")], axis=1).astype(np.int64)


def _masked(rows: Sequence[Mapping[str, Any]], lengths: Sequence[int]) -> np.ndarray:
    starts = _starts(lengths)
    own = [np.asarray(row.get("masked", ()), dtype=np.int64) + start for row, start in zip(rows, starts, strict=True)]
    return np.concatenate(own)


def _targets(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    return np.concatenate([np.asarray(row.get("target", ()), dtype=np.int64) for row in rows])


def _number_cells(
    document: np.ndarray, row: np.ndarray, column: np.ndarray, segment: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The body cell of each token, -1 where none, and the first token of each body cell.

    The tokens of a cell are neighbours, and no two neighbouring cells share row, column and document.
    """
    changes = np.ones(len(row), dtype=bool)
    changes[1:] = (np.diff(row) != 0) | (np.diff(column) != 0) | (np.diff(document) != 0)
    is_body = (row > 0) & (segment == 1)
    is_first = changes & is_body
    return np.where(is_body, np.cumsum(is_first) - 1, -1), np.flatnonzero(is_first)
