"""The histogram row: what it says, and that none of its cells can be an answer."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.attention import PatternPlanner
from mate_cli.encoding.batch import Collator
from mate_cli.encoding.cache import cache_key
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.expansion import histogram_row
from mate_cli.encoding.features import ARRAYS, EncodingOptions, Features
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tasks.cell_selection import rank_cells


def table(*lines: str) -> Table:
    header, *rows = ([Cell(text.strip()) for text in line.split("|")] for line in lines)
    return Table("t", tuple(header), tuple(tuple(row) for row in rows))


def test_it_counts_each_column() -> None:
    cities = table("city|country", "Rome|Italy", "Paris|France", "Turin|ITALY", "Rome|", "Bari|Spain", "Bonn|Germany")
    assert histogram_row(cities) == ["Rome 2 , Paris 1 , Turin 1", "Italy 2 , France 1 , Spain 1"]
    assert histogram_row(table("city|country")) == ["", ""]


@given(texts=st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=12))
def test_the_counts_are_those_of_the_most_frequent_values(texts: list[str]) -> None:
    (cell,) = histogram_row(Table("t", (Cell("x"),), tuple((Cell(text),) for text in texts)))
    listed = {part.split()[0]: int(part.split()[1]) for part in cell.split(" , ") if part}
    counts = Counter(filter(None, texts))
    assert all(counts[value] == count for value, count in listed.items())
    assert len(listed) == min(3, len(counts))
    assert min(listed.values(), default=0) >= max((counts[v] for v in counts if v not in listed), default=0)


CITIES = Example("q", "who", table("x|y", "red|new york", "red|players"), candidates=((0, 0), (1, 0)))


def features(tokenizer: CellTokenizer, **options: object) -> Features:
    return encode([CITIES], tokenizer, EncodingOptions(**options))[0].features  # type: ignore[arg-type]


def test_it_is_a_row_of_its_own_below_the_table(tokenizer: CellTokenizer) -> None:
    plain, longer = features(tokenizer), features(tokenizer, histogram_row=True)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(longer, name)[: len(plain)], getattr(plain, name), name)
    added = longer.input_ids[len(plain) :]
    counts = tokenizer.batch(["red 2", "new york 1 , players 1"])
    assert added.tolist() == counts.ids.tolist()
    assert set(longer.row[len(plain) :]) == {3}
    assert set(longer.segment[len(plain) :]) == {2}
    assert set(plain.segment) == {0, 1}
    assert not longer.labels[len(plain) :].any()
    assert longer.position[len(plain)] == 0


def test_its_cells_are_no_body_cells(tokenizer: CellTokenizer) -> None:
    rows = [row_of(CITIES, *encode([CITIES], tokenizer, EncodingOptions(histogram_row=True)))] * 2
    batch = Collator(PatternPlanner(("row_or_column",)))(rows)
    assert len(batch.cell_document) == 2 * 4
    assert batch.cell_row.tolist() == [0, 0, 1, 1] * 2
    assert batch.cell_column.tolist() == [0, 1] * 4
    assert batch.is_candidate.tolist() == [True, False] * 4
    in_histogram = batch.token_types[:, 0] == 2
    assert in_histogram.any()
    assert (batch.cell[in_histogram] == -1).all()
    ranked = rank_cells(batch.ids, torch.arange(8.0), batch.cell_document, batch.cell_row, batch.cell_column)
    assert all(sorted(prediction.cells) == [(0, 0), (0, 1), (1, 0), (1, 1)] for prediction in ranked)


def test_passages_alone_do_not_give_the_table_away(tokenizer: CellTokenizer) -> None:
    assert set(features(tokenizer, histogram_row=True, input="passages").segment) == {0, 1}
    assert set(features(tokenizer, histogram_row=True, input="table").segment) == {0, 1, 2}


@pytest.mark.parametrize("limit", [18, 20, 24])
def test_it_is_cut_like_the_other_cells(tokenizer: CellTokenizer, limit: int) -> None:
    cut = features(tokenizer, histogram_row=True, max_tokens=limit)
    assert len(cut) <= limit
    assert {(3, 1), (3, 2)} <= set(zip(cut.row.tolist(), cut.column.tolist(), strict=True))


def test_it_has_a_cache_of_its_own(tokenizer: CellTokenizer) -> None:
    source = SimpleNamespace(fingerprint=str)
    keys = {cache_key(source, tokenizer, EncodingOptions(histogram_row=on)) for on in (False, True)}
    assert len(keys) == 2
