"""Sizes that all batches of a run share, for devices that compile a program for each shape they meet."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.attention.pattern import Kind

FILLER = -1
"""Row and column of the tokens that bring a document to its fixed length."""


@dataclass(frozen=True)
class FixedShape:
    """
    Attributes:
        documents: of a batch, empty ones among them; tokens: of each, filled up.
        question: no document has more question tokens.
        row_window, column_window: places that a block of sorted tokens sees at most, see ``mate_cli.attention.blocks``.
    """

    documents: int
    tokens: int
    question: int
    row_window: int
    column_window: int

    def window(self, kind: Kind) -> int:
        return self.row_window if kind == "row" else self.column_window


def widest_shape(documents: int, tokens: int) -> FixedShape:
    """What holds any batch of so many documents: the question or a line may be the whole document."""
    return FixedShape(documents, tokens, tokens, tokens, tokens)
