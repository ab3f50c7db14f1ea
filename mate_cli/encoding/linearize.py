"""Lay out a question and a table as one sequence: [CLS] question [SEP] header, rows (docs/notes.md, note 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mate_cli.config.model import Positions
from mate_cli.encoding.features import ARRAYS, EncodingOptions, Features, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer, Pieces


@dataclass(frozen=True, slots=True)
class TableText:
    """One example, as numbers of texts among the pieces of a batch.

    Attributes:
        rows: number of body rows; a row of ``cells`` beyond them is a histogram row.
        question: number of the question's text.
        cells: numbers of the cells' texts, int64 ``[(rows + 1) * columns]``, header first, row-major.
        marks: name of a token array -> its value in each cell, int32 as ``cells``; other arrays are 0.
        values: float32 ``[rows * columns]``, see ``Features.cell_value``.
        kept: bool ``[columns]``, the columns to encode; None for all.
    """

    table_id: str
    rows: int
    columns: int
    question: int
    cells: np.ndarray
    marks: Mapping[str, np.ndarray]
    values: np.ndarray
    kept: np.ndarray | None = None


def linearize(
    text: TableText, pieces: Pieces, tokenizer: CellTokenizer, options: EncodingOptions
) -> tuple[Features | TooLarge, int]:
    """Return the arrays of one example, cut to ``options.max_tokens``, and its length before the cut."""
    question = pieces.of(text.question)
    source, cell = _table_pieces(text.cells, pieces)
    head, full_length = len(question) + 2, len(question) + 2 + len(source)
    if text.kept is not None:
        stays = text.kept[cell % text.columns]
        source, cell = source[stays], cell[stays]
    if head + len(source) > options.max_tokens:
        word_start = pieces.word_start[source]
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


def pieces_per_cell(word_start: np.ndarray, budget: int) -> int:
    """Return the largest k such that the words that start before piece k of their cells fit ``budget`` pieces.

    Uniform truncation (paper section 4.1; docs/notes.md, note 3). Words stay whole, so a cell may keep more than k
    pieces. 0 if not even the first word of each cell fits; one more than the largest word start keeps everything.

    Args:
        word_start: ``[pieces]``, start of the piece's word, counted in pieces within its cell.
    """
    cost = np.cumsum(np.bincount(word_start))  # cost[k - 1]: pieces kept at k
    return int(np.searchsorted(cost, budget, side="right"))


def _table_pieces(cells: np.ndarray, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of each piece of the table in ``pieces.ids``, and the number of its cell."""
    first = pieces.starts[cells]
    lengths = pieces.starts[cells + 1] - first
    ends = np.cumsum(lengths)
    cell = np.repeat(np.arange(len(cells)), lengths)
    return np.arange(len(cell)) + (first - ends + lengths)[cell], cell


def _features(ids: np.ndarray, head: int, cell: np.ndarray, text: TableText, options: EncodingOptions) -> Features:
    """Build the arrays from the kept ids, the length of the question part and the cell of each table token."""
    arrays = {name: np.zeros(len(ids), dtype=np.int32) for name in ARRAYS}
    row, column = np.divmod(cell, max(text.columns, 1))
    arrays["row"][head:], arrays["column"][head:] = row, column + 1
    arrays["segment"][head:] = np.where(row > text.rows, 2, 1)
    for name, marks in text.marks.items():
        arrays[name][head:] = marks[cell]
    arrays |= {
        "input_ids": ids.astype(np.int32),
        "position": token_positions(head, cell, text.columns, options.positions, options.max_positions),
    }
    values = text.values
    if text.kept is not None:
        values = values.reshape(text.rows, text.columns)[:, text.kept].ravel()
    return Features(**arrays, cell_value=values)


def token_positions(head: int, cell: np.ndarray, columns: int, positions: Positions, max_positions: int) -> np.ndarray:
    """Return positions that count through the input, or restart in each cell (paper section 3.2) or column.

    Within a cell they end at the last position, down a column they start again after it.

    Args:
        head: length of the question part.
        cell: ``[table tokens]``, the cell of each, row-major, in order.

    Returns:
        int32 ``[tokens]``.
    """
    place = np.arange(head + len(cell), dtype=np.int32)
    if positions == "sequence":
        return place
    if positions == "cell":
        place[head:] = _places(cell)
        return np.minimum(place, max_positions - 1)
    column = cell % max(columns, 1)
    order = np.argsort(column, kind="stable")
    place[head + order] = _places(column[order])
    return place % max_positions


def _places(group: np.ndarray) -> np.ndarray:
    """Return the place of each token in its group; groups are without gaps."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))
