"""Packed batches out of arrays of token types, as the release and Hugging Face have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mate_cli.attention import PatternPlanner, Planner
from mate_cli.encoding.batch import Batch, Collator
from mate_cli.encoding.features import TOKEN_TYPES
from mate_cli.tasks.weak_supervision import WeakSupervision

FULL = PatternPlanner(("full",))
WEAK = WeakSupervision(0.6, 2.0, 15.0)


def table_row(
    name: str, types: np.ndarray, labels: np.ndarray | None = None, values: np.ndarray | None = None, **given: Any
) -> dict[str, Any]:
    """A row as batches are made of.

    Args:
        types: ``[tokens, 7]``; labels, values: ``[tokens]``, values the same on every token of a cell.
        given: fields that are not to be 0 or unknown.
    """
    zeros = np.zeros(len(types), dtype=np.int64)
    row: dict[str, Any] = {"id": name, "input_ids": zeros, "position": zeros, "answer_value": np.nan, "label": -1}
    row |= {"operator": -1}
    row |= {kind: types[:, place] for place, kind in enumerate(TOKEN_TYPES)}
    row["labels"] = zeros if labels is None else labels
    row["cell_value"] = _of_cells(types, np.full(len(types), np.nan) if values is None else values)
    return row | given


def padded_batch(
    types: np.ndarray, mask: np.ndarray, labels: np.ndarray, values: np.ndarray, planner: Planner = FULL, **given: Any
) -> Batch:
    """A batch of the tokens where ``mask`` is 1; all arrays are ``[batch, ...]``, see ``table_row``."""
    rows = []
    for number, kept in enumerate(mask.astype(bool)):
        own = {name: of[number][kept] if of.ndim == 2 else of[number] for name, of in given.items()}
        rows.append(table_row(str(number), types[number, kept], labels[number, kept], values[number, kept], **own))
    return Collator(planner)(rows)


def on_tokens(per_cell: np.ndarray, batch: Batch, mask: np.ndarray) -> np.ndarray:
    """A number per body cell on its tokens, padded, ``[batch, tokens]``; 0 in questions, headers and padding."""
    padded = np.zeros(mask.shape, dtype=per_cell.dtype)
    padded[mask.astype(bool)] = np.append(per_cell, 0)[batch.cell.numpy()]
    return padded


def _of_cells(types: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The value at the first token of each body cell."""
    _, column, row = types[:, :3].T
    first = np.ones(len(row), dtype=bool)
    first[1:] = (np.diff(row) != 0) | (np.diff(column) != 0)
    return values[first & (row > 0)]
