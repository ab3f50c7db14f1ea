"""A table and the texts around it as word pieces: the content of a shard, tokenized once for all epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mate_cli.encoding.tokenizer import CellTokenizer, Pieces
from mate_cli.tables.columns import column_values
from mate_cli.tables.corpus import CorpusTable

MAX_PIECES = 1 << 14
"""The longest model input; rows of a table beyond that many pieces are dropped."""


@dataclass(frozen=True, slots=True)
class TablePieces:
    """The pieces of a table's first rows, header first, row-major, and of the texts around it.

    Attributes:
        page: what tables of one page have in common: their title, or without one the table's id.
        columns: number of columns.
        text_ids, cell_ids: int32 ``[pieces]``, all texts and all cells, concatenated.
        text_ends, cell_ends: int32 ``[texts]``, ``[cells]``, end of each.
        column_rank, inv_column_rank: int32 ``[cells]``, among all rows of the table (``Features``).
    """

    id: str
    page: str
    columns: int
    text_ids: np.ndarray
    text_ends: np.ndarray
    cell_ids: np.ndarray
    cell_ends: np.ndarray
    column_rank: np.ndarray
    inv_column_rank: np.ndarray

    @property
    def texts(self) -> list[np.ndarray]:
        """The pieces of each text."""
        return np.split(self.text_ids, self.text_ends[:-1]) if len(self.text_ends) else []


def table_pieces(tables: Sequence[CorpusTable], tokenizer: CellTokenizer) -> list[TablePieces]:
    """Tokenize tables, in order; each distinct text is tokenized once."""
    numbers: dict[str, int] = {}
    texts = [[numbers.setdefault(text, len(numbers)) for text in entry.texts] for entry in tables]
    cells = [
        [numbers.setdefault(cell.text, len(numbers)) for row in (entry.table.header, *entry.table.rows) for cell in row]
        for entry in tables
    ]
    pieces = tokenizer.batch(list(numbers))
    return [_of_table(*entry, pieces) for entry in zip(tables, texts, cells, strict=True)]


def _of_table(entry: CorpusTable, texts: list[int], cells: list[int], pieces: Pieces) -> TablePieces:
    table, columns = entry.table, entry.table.num_columns
    text_ids, text_ends = _concatenate(texts, pieces)
    # At least the header and a row, then whole rows up to the limit; a cell has at least one piece.
    cell_ids, cell_ends = _concatenate(cells[: max(MAX_PIECES // columns, 2) * columns], pieces)
    whole_rows = int(np.searchsorted(cell_ends[columns - 1 :: columns], MAX_PIECES, side="right"))
    cell_ends = cell_ends[: max(whole_rows, 2) * columns]
    values, header = column_values(table), np.zeros(columns, dtype=np.int32)
    rank, inverse_rank = (
        np.concatenate([header, body.ravel()])[: len(cell_ends)].astype(np.int32)
        for body in (values.rank, values.inverse_rank)
    )
    cell_ids = cell_ids[: cell_ends[-1]]
    return TablePieces(
        table.id, table.title or table.id, columns, text_ids, text_ends, cell_ids, cell_ends, rank, inverse_rank
    )


def _concatenate(texts: list[int], pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """Return the pieces of some texts, concatenated, and the end of each, int32."""
    ids = [pieces.of(text) for text in texts]
    ends = np.cumsum([len(text) for text in ids], dtype=np.int32)
    return np.concatenate([np.zeros(0, dtype=np.int32), *ids]), ends
