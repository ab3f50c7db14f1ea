"""The one shape that all batches of a run have on devices that compile a program for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.attention.blocks import BLOCK, window_needed
from mate_cli.encoding.batch import layout_of

_LAYOUT = ["input_ids", "row", "column", "segment"]


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
