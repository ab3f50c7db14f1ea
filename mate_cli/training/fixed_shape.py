"""The one shape that all batches of a run have on devices that compile a program for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.attention.blocks import BLOCK, window_needed
from mate_cli.config.kinds import KINDS
from mate_cli.config.task import TaskConfig
from mate_cli.encoding.batch import layout_of
from mate_cli.kinds.registry import kind_named, kind_of
from mate_cli.system.errors import UserError

_LAYOUT = ["input_ids", "row", "column", "segment"]


def check_fixed(task: TaskConfig) -> None:
    """Make sure that the losses of a task have one shape.

    Raises:
        UserError: they do not, so that XLA devices would compile them anew for each batch.
    """
    if not kind_of(task).fixed_shape:
        fixed = ", ".join(name for name in KINDS if kind_named(name).fixed_shape)
        raise UserError(
            f"task={task.name} ({task.kind}) has other shapes for each batch and runs on no XLA device yet: "
            f"use a GPU or hardware=cpu; there are {fixed}"
        )


def most_masked(task: TaskConfig, max_tokens: int) -> int:
    """Return how many tokens of an example are masked at most."""
    return max(1, round(task.masking.share * max_tokens)) if task.traits.learns_from_corpus else 0


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
