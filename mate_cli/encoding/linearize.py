"""A question and a table as one sequence of tokens with coordinates: [CLS] question [SEP] header, rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mate_cli.encoding.features import ARRAYS, EncodingOptions, Features, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer, Pieces
from mate_cli.encoding.truncation import pieces_per_cell


@dataclass(frozen=True, slots=True)
class TableText:
    """Where the texts of one example are among the pieces of a batch.

    Attributes:
        rows: of the body; a row that ``cells`` has beyond them is a histogram row.
        question: number of the question's text.
        cells: numbers of the cells' texts, int64 ``[(rows + 1) * columns]``, header first, row-major.
        marks: what all tokens of a cell have in common, by the name of its array, int32 as ``cells``; what is not
            named is 0.
        values: float32 ``[rows * columns]``, as ``Features.cell_value``.
    """

    table_id: str
    rows: int
    columns: int
    question: int
    cells: np.ndarray
    marks: Mapping[str, np.ndarray]
    values: np.ndarray


def linearize(
    text: TableText, pieces: Pieces, tokenizer: CellTokenizer, options: EncodingOptions
) -> tuple[Features | TooLarge, int]:
    """The arrays of one example, cut to ``options.max_tokens``, and its length before the cut."""
    question = pieces.of(text.question)
    source, cell = _table_pieces(text.cells, pieces)
    word_start = pieces.word_start[source]
    head, full_length = len(question) + 2, len(question) + 2 + len(source)
    if full_length > options.max_tokens:
        k = pieces_per_cell(word_start, options.max_tokens - head)
        if k == 0:
            least = head + int((word_start == 0).sum())
            return TooLarge(text.table_id, least, options.max_tokens, head), full_length
        kept = word_start < k
        source, cell = source[kept], cell[kept]
    ids = np.concatenate([[tokenizer.cls], question, [tokenizer.sep], pieces.ids[source]])
    features = _features(ids, head, cell, text, options)
    if options.spans:
        assert pieces.characters is not None
        features = replace(features, characters=np.pad(pieces.characters[source], ((head, 0), (0, 0))))
    return features, full_length


def _table_pieces(cells: np.ndarray, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """For each piece of the table, where it is in the batch's pieces and which cell it belongs to."""
    first = pieces.starts[cells]
    lengths = pieces.starts[cells + 1] - first
    ends = np.cumsum(lengths)
    cell = np.repeat(np.arange(len(cells)), lengths)
    return np.arange(len(cell)) + (first - ends + lengths)[cell], cell


def _features(ids: np.ndarray, head: int, cell: np.ndarray, text: TableText, options: EncodingOptions) -> Features:
    """The arrays, given the kept ids, the length of the question part and the cell of each table token."""
    arrays = {name: np.zeros(len(ids), dtype=np.int32) for name in ARRAYS}
    row, column = np.divmod(cell, max(text.columns, 1))
    arrays["row"][head:], arrays["column"][head:] = row, column + 1
    arrays["segment"][head:] = np.where(row > text.rows, 2, 1)
    for name, marks in text.marks.items():
        arrays[name][head:] = marks[cell]
    arrays |= {
        "input_ids": ids.astype(np.int32),
        "position": token_positions(head, cell, options.reset_positions, options.max_positions),
    }
    return Features(**arrays, cell_value=text.values)


def token_positions(head: int, cell: np.ndarray, reset: bool, max_positions: int) -> np.ndarray:
    """Absolute, or counted from the start of the question and of each cell and clamped (checklist 14).

    Args:
        head: length of the question part; cell: the cell of each token of the table.

    Returns:
        int32 ``[tokens]``.
    """
    place = np.arange(head + len(cell), dtype=np.int32)
    if not reset:
        return place
    starts_cell = np.flatnonzero(np.diff(cell, prepend=-1))
    lengths = np.diff(starts_cell, append=len(cell))
    place[head:] -= np.repeat(head + starts_cell, lengths).astype(np.int32)
    return np.minimum(place, max_positions - 1)
