"""The one shape that all batches of a run have on devices that compile a program for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.attention.blocks import BLOCK, window_needed
from mate_cli.config.task import TaskConfig
from mate_cli.encoding.batch import layout_of
from mate_cli.system.errors import UserError

FIXED_KINDS = ("cell_selection", "entailment", "masked_language")
"""Kinds of task whose losses have one shape; the others count spans, columns or numbers of each batch."""

_LAYOUT = ["input_ids", "row", "column", "segment"]


def check_fixed(task: TaskConfig) -> None:
    """
    Raises:
        UserError: the task is one of those that XLA devices would compile anew for each batch.
    """
    if task.kind not in FIXED_KINDS:
        raise UserError(
            f"task={task.name} ({task.kind}) has other shapes for each batch and runs on no XLA device yet: "
            f"use a GPU or hardware=cpu; there are {', '.join(FIXED_KINDS)}"
        )


def most_masked(task: TaskConfig, max_tokens: int) -> int:
    """Masked tokens of an example, at most."""
    return max(1, round(task.masking.share * max_tokens)) if task.kind == "masked_language" else 0


def shape_of(rows: Any, documents: int, max_tokens: int) -> FixedShape:
    """What batches of so many documents need to hold any of the encoded rows; a stream's rows are not known before.

    Args:
        rows: sets of encoded rows; documents: examples of a micro-batch; max_tokens: what they were encoded for.
    """
    if not all(hasattr(own, "select_columns") for own in rows):
        return widest_shape(documents, max_tokens)
    needs = [_need(row) for own in rows for row in own.select_columns(_LAYOUT)]
    tokens, question, *windows = (max(own) for own in zip(*needs, strict=True))
    return FixedShape(documents, min(max_tokens, _rounded(tokens)), _rounded(question), *windows)


def _need(row: Mapping[str, Any]) -> tuple[int, int, int, int]:
    layout = layout_of([row])
    question = int((layout.segment == 0).sum())
    return len(layout.document), question, window_needed("row", layout), window_needed("column", layout)


def _rounded(tokens: int) -> int:
    return -(-tokens // BLOCK) * BLOCK
