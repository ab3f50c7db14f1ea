"""Batches of one fixed shape, for devices that compile a program for each shape.

Each document is padded to one length, and the batch to one number of documents. The filler is never read: filler tokens
attend only to themselves (``Layout``), and cells, headers, masked tokens and labels after the real ones belong to one
extra document without an id, or have no label. There are as many places for cells, and for headers, as for tokens, so
no table is too wide.
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

_CELL_FILLERS = {"cell_row": -1, "cell_column": -1, "is_candidate": 0, "cell_value": torch.nan}
_DOCUMENT_FILLERS = {"label": -1, "operator": -1, "answer_value": torch.nan, "answer_span": -1, "first": 0}


class FixedCollator(Collator):
    """A ``Collator`` whose batches all have the same numbers of documents, tokens, cells and headers.

    Args:
        masked: maximum of masked tokens per document.
    """

    def __init__(self, planner: Planner, shape: FixedShape, masked: int = 0) -> None:
        super().__init__(planner)
        self.shape, self.masked = shape, masked

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        """Concatenate and pad rows.

        Raises:
            ValueError: more rows than documents, or a row is too long.
        """
        empty = [_empty_like(rows[0])] * (self.shape.documents - len(rows))
        if len(rows) > self.shape.documents:
            raise ValueError(f"{len(rows)} examples for a batch of {self.shape.documents}")
        batch = super().__call__([self._padded(row) for row in [*rows, *empty]])
        cells, documents = self.shape.documents * self.shape.tokens, self.shape.documents
        masked = self.masked * documents
        fillers = {name: (cells, value) for name, value in _CELL_FILLERS.items()}
        fillers |= {name: (documents + 1, value) for name, value in _DOCUMENT_FILLERS.items()}
        fillers |= {"cell_document": (cells, documents), "masked": (masked, 0), "target": (masked, -1)}
        # The last header is always filler: a question has no header.
        fillers |= {"header_document": (cells, documents), "cell_header": (cells, cells - 1)}
        fixed: dict[str, Any] = {name: _pad(getattr(batch, name), *filler) for name, filler in fillers.items()}
        return replace(batch, **fixed, ids=batch.ids[: len(rows)], answers=batch.answers[: len(rows)])

    def layout(self, rows: Sequence[Mapping[str, Any]]) -> Layout:
        layout, is_filler = layout_of(rows), np.concatenate([row["is_filler"] for row in rows])
        row, column = (np.where(is_filler, FILLER, lines) for lines in (layout.row, layout.column))
        return Layout(layout.document, row, column, layout.segment | is_filler, self.shape)

    def _padded(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Pad the tokens of a row with [PAD] outside the table."""
        length, tokens = len(row["input_ids"]), self.shape.tokens
        if length > tokens:
            raise ValueError(f"an example has {length} tokens, the fixed shape {tokens}")
        names = [name for name in (*ARRAYS, "char_start", "char_end") if name in row]
        arrays = {name: np.pad(np.asarray(row[name]), (0, tokens - length)) for name in names}
        return {**row, **arrays, "is_filler": np.arange(tokens) >= length}


def _empty_like(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the same columns without tokens, cells, answers and labels."""
    plain = {"id": "", "label": -1, "operator": -1, "answer_value": np.nan, "texts": (), "answers": ()}
    plain |= {"span_first": -1, "span_last": -1}
    return {name: plain.get(name, np.zeros(0, np.int64)) for name in row}


def _pad(values: Tensor, length: int, value: float) -> Tensor:
    """Pad the first dimension."""
    if len(values) > length:
        raise ValueError(f"{len(values)} values, the fixed shape has {length}")
    return F.pad(values, (0, 0) * (values.dim() - 1) + (0, length - len(values)), value=value)
