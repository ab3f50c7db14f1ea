"""Batches that all have one shape, for devices that compile a program for each shape they meet.

Each document is filled up to one length, and the batch up to one number of documents. What fills up is never read:
filler tokens are seen by themselves alone (``Layout``), and the cells, masked tokens and labels behind the real ones
belong to one more document without an id, or have no label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention import FILLER, FixedShape, Layout, Planner
from mate_cli.encoding.batch import Batch, Collator, layout_of
from mate_cli.encoding.features import ARRAYS

_OF_CELLS = {"cell_row": -1, "cell_column": -1, "is_candidate": 0, "cell_value": torch.nan}
_OF_DOCUMENTS = {"label": -1, "answer_value": torch.nan, "answer_span": -1, "first": 0}


class FixedCollator(Collator):
    """As ``Collator``, with as many documents, tokens and cells in every batch.

    Args:
        masked: how many masked tokens a document has at most.
    """

    def __init__(self, planner: Planner, shape: FixedShape, masked: int = 0) -> None:
        super().__init__(planner)
        self.shape, self.masked = shape, masked

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        """
        Raises:
            ValueError: there are more rows than documents, or a row is longer than those.
        """
        empty = [_empty_like(rows[0])] * (self.shape.documents - len(rows))
        if len(rows) > self.shape.documents:
            raise ValueError(f"{len(rows)} examples for a batch of {self.shape.documents}")
        batch = super().__call__([self._filled(row) for row in [*rows, *empty]])
        cells, documents = self.shape.documents * self.shape.tokens, self.shape.documents
        fixed: dict[str, Any] = {
            name: _filled_up(getattr(batch, name), cells, value) for name, value in _OF_CELLS.items()
        }
        fixed |= {name: _filled_up(getattr(batch, name), documents + 1, own) for name, own in _OF_DOCUMENTS.items()}
        fixed["cell_document"] = _filled_up(batch.cell_document, cells, documents)
        masked = self.masked * documents
        fixed |= {"masked": _filled_up(batch.masked, masked, 0), "target": _filled_up(batch.target, masked, -1)}
        real = slice(len(rows))
        return replace(batch, **fixed, ids=batch.ids[real], answers=batch.answers[real])

    def layout(self, rows: Sequence[Mapping[str, Any]]) -> Layout:
        layout, is_filler = layout_of(rows), np.concatenate([row["is_filler"] for row in rows])
        row, column = (np.where(is_filler, FILLER, own) for own in (layout.row, layout.column))
        return Layout(layout.document, row, column, layout.segment | is_filler, self.shape)

    def _filled(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row with its tokens filled up; what fills is [PAD] outside of the table."""
        length, tokens = len(row["input_ids"]), self.shape.tokens
        if length > tokens:
            raise ValueError(f"an example has {length} tokens, and the fixed shape has {tokens}")
        names = [name for name in (*ARRAYS, "char_start", "char_end") if name in row]
        arrays = {name: np.pad(np.asarray(row[name]), (0, tokens - length)) for name in names}
        return {**row, **arrays, "is_filler": np.arange(tokens) >= length}


def _empty_like(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the same columns, without a token, a cell, an answer or a label."""
    plain = {
        "id": "",
        "label": -1,
        "answer_value": np.nan,
        "span_first": -1,
        "span_last": -1,
        "texts": (),
        "answers": (),
    }
    return {name: plain[name] if name in plain else np.zeros(0, np.int64) for name in row}


def _filled_up(values: Tensor, length: int, value: float) -> Tensor:
    """Along the first dimension."""
    if len(values) > length:
        raise ValueError(f"{len(values)} values, and the fixed shape has {length}")
    return F.pad(values, (0, 0) * (values.dim() - 1) + (0, length - len(values)), value=value)
