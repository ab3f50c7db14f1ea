"""A table and the texts around it as word pieces: what a corpus keeps, so that training need not tokenise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mate_cli.encoding.tokenizer import CellTokenizer, Pieces
from mate_cli.tables.columns import column_values
from mate_cli.tables.corpus import CorpusTable
from mate_cli.tables.table import Table

MAX_PIECES = 1 << 14
"""The longest input that models are made for: rows of a table beyond that many pieces are not kept."""


@dataclass(frozen=True, slots=True)
class TablePieces:
    """The pieces of a table's first rows, header first, row-major, and of the texts around it.

    Attributes:
        page: what tables of one page have in common: its title, or where there is none the table's id.
        columns: of the table.
        text_ids, cell_ids: int32 ``[pieces]``, all texts and all cells one after another.
        text_ends, cell_ends: int32 ``[texts]``, ``[cells]``, where each ends.
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

    @property
    def rows(self) -> int:
        """Rows that are kept, without the header."""
        return len(self.cell_ends) // self.columns - 1


def table_pieces(tables: Sequence[CorpusTable], tokenizer: CellTokenizer) -> list[TablePieces]:
    """Tokenise tables, in order; each distinct text of them is read once."""
    numbers: dict[str, int] = {}
    texts = [[numbers.setdefault(text, len(numbers)) for text in own.texts] for own in tables]
    cells = [
        [numbers.setdefault(cell.text, len(numbers)) for row in (own.table.header, *own.table.rows) for cell in row]
        for own in tables
    ]
    pieces = tokenizer.batch(list(numbers))
    return [_of_table(*own, pieces) for own in zip(tables, texts, cells, strict=True)]


def _of_table(own: CorpusTable, texts: list[int], cells: list[int], pieces: Pieces) -> TablePieces:
    columns = own.table.num_columns
    text_ids, text_ends = _joined(texts, pieces)
    # At least the header and a row, then whole rows as far as they go; a cell has at least one piece.
    cell_ids, cell_ends = _joined(cells[: max(MAX_PIECES // columns, 2) * columns], pieces)
    whole_rows = np.searchsorted(cell_ends[columns - 1 :: columns], MAX_PIECES, side="right")
    kept = max(int(whole_rows), 2) * columns
    cell_ends = cell_ends[:kept]
    rank, inverse = _ranks(own.table, len(cell_ends))
    page = own.table.title or own.table.id
    return TablePieces(
        own.table.id, page, columns, text_ids, text_ends, cell_ids[: cell_ends[-1]], cell_ends, rank, inverse
    )


def _joined(texts: list[int], pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    own = [pieces.of(text) for text in texts]
    ends = np.cumsum([len(ids) for ids in own], dtype=np.int32)
    return np.concatenate([np.zeros(0, dtype=np.int32), *own]), ends


def _ranks(table: Table, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Rank and inverse rank of the first cells, int32 ``[cells]`` each, header first; those of the header are 0."""
    values = column_values(table)
    header = np.zeros(table.num_columns, dtype=np.int32)
    rank, inverse = (
        np.concatenate([header, body.ravel()])[:cells].astype(np.int32) for body in (values.rank, values.inverse_rank)
    )
    return rank, inverse
