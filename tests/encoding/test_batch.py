"""Packed batches against the examples that they are made of."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.attention import PatternPlanner
from mate_cli.encoding.batch import Batch, Collator
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import ARRAYS, TOKEN_TYPES, EncodingOptions
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.columns import column_values
from mate_cli.tables.table import Cell, Example, Table


@st.composite
def examples(draw: st.DrawFn) -> Example:
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(1, 3))
    texts = st.sampled_from(["red", "", "new york city", "players", "12", "1,950.5", "7 players"])
    lines = [tuple(Cell(draw(texts)) for _ in range(columns)) for _ in range(rows + 1)]
    places = [(row, column) for row in range(rows) for column in range(columns)]
    candidates = draw(st.sets(st.sampled_from(places))) if places else set()
    table = Table("t", lines[0], tuple(lines[1:]))
    return Example(str(draw(st.integers(0, 999))), draw(texts), table, candidates=tuple(sorted(candidates)))


def rows_of(examples: list[Example], tokenizer: CellTokenizer) -> list[dict[str, object]]:
    encoded = encode(examples, tokenizer, EncodingOptions())
    return [row_of(example, own) for example, own in zip(examples, encoded, strict=True)]


@given(many=st.lists(examples(), min_size=1, max_size=5))
def test_batch_holds_its_examples(tokenizer: CellTokenizer, many: list[Example]) -> None:
    rows = rows_of(many, tokenizer)
    batch = Collator(PatternPlanner(("row", "column")))(rows)
    assert batch.ids == [example.id for example in many]
    for number, row in enumerate(rows):
        own = batch.document == number
        assert batch.input_ids[own].tolist() == row["input_ids"].tolist()  # type: ignore[attr-defined]
        assert batch.positions[own].tolist() == row["position"].tolist()  # type: ignore[attr-defined]
        for place, name in enumerate(TOKEN_TYPES):
            assert batch.token_types[own, place].tolist() == row[name].tolist()  # type: ignore[attr-defined]
    assert batch.plan.tokens == len(batch.input_ids)


@given(many=st.lists(examples(), min_size=1, max_size=5))
def test_cells_of_a_batch(tokenizer: CellTokenizer, many: list[Example]) -> None:
    """The body cells are all there, row-major, document by document; tokens point to their own."""
    batch = Collator(PatternPlanner(("full",)))(rows_of(many, tokenizer))
    expected = [
        (number, row, column, (row, column) in example.candidates)
        for number, example in enumerate(many)
        for row in range(example.table.num_rows)
        for column in range(example.table.num_columns)
    ]
    columns = (batch.cell_document, batch.cell_row, batch.cell_column, batch.is_candidate)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    types = dict(zip(TOKEN_TYPES, batch.token_types.T, strict=True))
    for token, cell in enumerate(batch.cell.tolist()):
        row, column = int(types["row"][token]), int(types["column"][token])
        if row == 0:
            assert cell == -1
        else:
            assert expected[cell][:3] == (int(batch.document[token]), row - 1, column - 1)


@given(many=st.lists(examples(), min_size=1, max_size=5))
def test_headers_of_a_batch(tokenizer: CellTokenizer, many: list[Example]) -> None:
    """A header for each column, document by document; tokens and body cells point to their own."""
    batch = Collator(PatternPlanner(("full",)))(rows_of(many, tokenizer))
    columns = [(number, column) for number, example in enumerate(many) for column in range(example.table.num_columns)]
    assert batch.header_document.tolist() == [number for number, _ in columns]
    cells = zip(batch.cell_header.tolist(), batch.cell_document.tolist(), batch.cell_column.tolist(), strict=True)
    assert all(columns[header] == (document, column) for header, document, column in cells)
    segment, column, row = batch.token_types[:, :3].T.tolist()
    for token, header in enumerate(batch.header.tolist()):
        if segment[token] == 1 and row[token] == 0:
            assert columns[header] == (int(batch.document[token]), column[token] - 1)
        else:
            assert header == -1


@given(many=st.lists(examples(), min_size=1, max_size=5))
def test_values_of_a_batch(tokenizer: CellTokenizer, many: list[Example]) -> None:
    """The numbers of the cells are beside the cells, row-major, document by document."""
    batch = Collator(PatternPlanner(("full",)))(rows_of(many, tokenizer))
    assert batch.cell_value.shape == batch.cell_document.shape
    for number, example in enumerate(many):
        expected = column_values(example.table).numbers.ravel()
        np.testing.assert_array_equal(batch.cell_value[batch.cell_document == number], expected)


def test_answers_and_labels(tokenizer: CellTokenizer) -> None:
    table = Table("t", (Cell("x"),), ((Cell("12"),),))
    known = Example("a", "who", table, value=0.1, label=0)
    batch = Collator(PatternPlanner(("full",)))(rows_of([known, Example("b", "who", table)], tokenizer))
    torch.testing.assert_close(batch.answer_value, torch.tensor([0.1, torch.nan]), rtol=0, atol=0, equal_nan=True)
    assert batch.label.tolist() == [0, -1]


def small_batch(tokenizer: CellTokenizer) -> Batch:
    table = Table("t", (Cell("x"), Cell("y")), ((Cell("red"), Cell("new york")),))
    example = Example("q", "who", table, candidates=((0, 1),))
    return Collator(PatternPlanner(("row", "column"), "dense"))(rows_of([example, example], tokenizer))


def test_types(tokenizer: CellTokenizer) -> None:
    batch = small_batch(tokenizer)
    for name in ("input_ids", "token_types", "positions", "document", "cell", "cell_document", "cell_row", "label"):
        assert getattr(batch, name).dtype == torch.int64, name
    assert batch.is_candidate.dtype == torch.bool
    assert batch.cell_value.dtype == batch.answer_value.dtype == torch.float32
    assert batch.token_types.shape == (len(batch.input_ids), 7)


def test_batches_travel(tokenizer: CellTokenizer) -> None:
    """To another process, as loader workers send them, and to another device."""
    batch = small_batch(tokenizer)
    again = pickle.loads(pickle.dumps(batch))
    assert torch.equal(again.token_types, batch.token_types)
    assert type(again.plan) is type(batch.plan)
    moved = batch.to("meta")
    assert moved.input_ids.device.type == moved.is_candidate.device.type == "meta"
    assert moved.ids == batch.ids


def test_rows_from_arrow_may_have_other_integer_types(tokenizer: CellTokenizer) -> None:
    table = Table("t", (Cell("x"),), ((Cell("red"),),))
    (row,) = rows_of([Example("q", "who", table)], tokenizer)
    small = row | {name: row[name].astype(np.uint8) for name in ARRAYS}  # type: ignore[attr-defined]
    one, other = Collator(PatternPlanner(("row",)))([row]), Collator(PatternPlanner(("row",)))([small])
    assert torch.equal(one.token_types, other.token_types)
    assert torch.equal(one.input_ids, other.input_ids)


@pytest.mark.parametrize("module", ["features", "batch"])
def test_training_does_not_import_datasets(module: str) -> None:
    """Only opening a cache imports pyarrow and datasets; bench and train do not."""
    unwanted = "{'datasets', 'pyarrow'} & set(sys.modules)"
    code = f"import sys, mate_cli.encoding.{module}; sys.exit(str({unwanted}) if {unwanted} else 0)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
