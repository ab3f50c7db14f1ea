"""Masked-language examples: what holds for every table, whatever was drawn."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mate_cli.encoding.masked_example import MaskingOptions, generator, masked_row
from mate_cli.encoding.table_pieces import TablePieces, table_pieces
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.corpus import CorpusTable
from mate_cli.tables.table import Cell, Table

_WORDS = st.sampled_from(["city", "unbelievable", "1905", "2", "rivers", "", "new york", "kings", "x"])
_TEXTS = st.lists(st.lists(_WORDS, min_size=1, max_size=30).map(" ".join), max_size=3)


@st.composite
def corpus_tables(draw: st.DrawFn) -> CorpusTable:
    columns, rows = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    cells = draw(st.lists(_WORDS, min_size=columns * (rows + 1), max_size=columns * (rows + 1)))
    lines = [tuple(map(Cell, cells[at : at + columns])) for at in range(0, len(cells), columns)]
    return CorpusTable(Table("t", lines[0], tuple(lines[1:])), tuple(draw(_TEXTS)), {})


def _original(row: dict[str, Any]) -> np.ndarray:
    ids = row["input_ids"].copy()
    ids[row["masked"]] = row["target"]
    return ids


LONG = CorpusTable(Table("t", (Cell("city"),), ((Cell("city"),),)), ("city " * 9 + "unbelievable " * 8,), {})


@given(corpus_tables(), st.integers(0, 99), st.integers(16, 200), st.booleans(), st.booleans())
@example(own=LONG, seed=0, max_tokens=34, whole_cells=False, joined=False)  # the longest text ends within a word
def test_an_example_is_a_part_of_its_table_beside_a_part_of_its_texts(
    tokenizer: CellTokenizer, own: CorpusTable, seed: int, max_tokens: int, whole_cells: bool, joined: bool
) -> None:
    (pieces,) = table_pieces([own], tokenizer)
    options = MaskingOptions(max_tokens, whole_cells=whole_cells, joined_texts=joined)
    row = masked_row(pieces, tokenizer, options, Random(seed))
    ids, segment = _original(row), row["segment"]
    head = int((segment == 0).sum())
    assert len(ids) <= max_tokens
    assert (ids[0], ids[head - 1]) == (tokenizer.cls, tokenizer.sep)
    assert not segment[:head].any()
    text = tokenizer.words(ids[1 : head - 1])
    assert set(text.split()) <= set(tokenizer.words(pieces.text_ids).split())  # whole words
    lengths = np.diff(pieces.cell_ends, prepend=0)
    cells = np.split(pieces.cell_ids, pieces.cell_ends[:-1])
    places = row["row"][head:] * pieces.columns + row["column"][head:] - 1
    for place in set(places.tolist()):
        kept = ids[head:][places == place]
        assert (kept == cells[place][: len(kept)]).all()
        assert (row["position"][head:][places == place] == np.arange(len(kept))).all()
        assert len(kept) == lengths[place] or not tokenizer.is_continuation(cells[place])[len(kept)]
        assert (row["column_rank"][head:][places == place] == pieces.column_rank[place]).all()
    if len(places):
        rows, columns = row["row"].max() + 1, row["column"].max()
        assert rows >= 2
        assert len(set(places.tolist())) == rows * columns
        assert len(row["cell_value"]) == (rows - 1) * columns


@given(corpus_tables(), st.integers(0, 99), st.booleans())
def test_whole_units_are_masked_and_never_too_many(
    tokenizer: CellTokenizer, own: CorpusTable, seed: int, whole_cells: bool
) -> None:
    (pieces,) = table_pieces([own], tokenizer)
    row = masked_row(pieces, tokenizer, MaskingOptions(64, whole_cells=whole_cells), Random(seed))
    ids, chosen = _original(row), np.zeros(len(row["input_ids"]), dtype=bool)
    chosen[row["masked"]] = True
    head = int((row["segment"] == 0).sum())
    assert chosen.sum() <= max(1, round(0.15 * len(ids)))
    assert (np.diff(row["masked"]) > 0).all()
    assert not chosen[[0, head - 1]].any()
    continues = tokenizer.is_continuation(ids)
    for token in range(1, len(ids)):
        place, before = ((row["row"][t], row["column"][t]) for t in (token, token - 1))
        same_cell = whole_cells and token > head and place == before
        if token not in (1, head - 1, head) and (continues[token] or same_cell):
            assert chosen[token] == chosen[token - 1]


def test_four_fifths_become_mask_and_a_tenth_any_piece(tokenizer: CellTokenizer) -> None:
    table = Table("t", (Cell("city"), Cell("x")), tuple((Cell("1905"), Cell("rivers")) for _ in range(40)))
    (pieces,) = table_pieces([CorpusTable(table, ("city rivers " * 20,), {})], tokenizer)
    rows = [masked_row(pieces, tokenizer, MaskingOptions(), generator("t", 0, 128, number)) for number in range(300)]
    shown = np.concatenate([row["input_ids"][row["masked"]] for row in rows])
    target = np.concatenate([row["target"] for row in rows])
    assert len(target) > 4000
    assert abs((shown == tokenizer.mask).mean() - 0.8) < 0.03  # and 1 in 68 of the tenth that is any piece
    assert abs((shown == target).mean() - 0.1) < 0.02
    assert len(set(shown.tolist())) == len(tokenizer.vocabulary)


def test_an_example_is_a_function_of_table_seed_length_and_number(tokenizer: CellTokenizer) -> None:
    def drawn(*key: Any) -> list[int]:
        return masked_row(pieces, tokenizer, MaskingOptions(), generator(*key))["input_ids"].tolist()

    table = Table("t", (Cell("city"),), tuple((Cell("1905"),) for _ in range(40)))
    (pieces,) = table_pieces([CorpusTable(table, ("city rivers " * 20,), {})], tokenizer)
    keys = [("t", 0, 128, 0), ("t", 0, 128, 1), ("t", 1, 128, 0), ("u", 0, 128, 0)]
    assert [drawn(*key) for key in keys] == [drawn(*key) for key in keys]
    assert len({tuple(drawn(*key)) for key in keys}) == len(keys)


def test_a_cell_that_cannot_fit_leaves_the_text_alone(tokenizer: CellTokenizer) -> None:
    table = Table("t", (Cell("city"),), ((Cell("un" + "believ" * 20),),))
    (pieces,) = table_pieces([CorpusTable(table, ("city",), {})], tokenizer)
    row = masked_row(pieces, tokenizer, MaskingOptions(16), Random(0))
    assert _original(row).tolist() == [tokenizer.cls, tokenizer.vocabulary["city"], tokenizer.sep]
    assert row["target"].tolist() == [tokenizer.vocabulary["city"]]


def test_rows_beyond_the_longest_input_are_not_kept(tokenizer: CellTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mate_cli.encoding.table_pieces.MAX_PIECES", 10)
    rows = tuple((Cell("city"), Cell(str(number))) for number in (1, 2, 3, 1, 2, 3))
    kept: list[TablePieces] = table_pieces([CorpusTable(Table("t", rows[0], rows[1:]), (), {})], tokenizer)
    assert len(kept[0].cell_ends) == len(kept[0].column_rank)
    assert 2 <= len(kept[0].cell_ends) // 2 - 1 < 5
    assert len(kept[0].cell_ids) <= 10
