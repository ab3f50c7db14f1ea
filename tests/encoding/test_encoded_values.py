"""Numbers, ranks and comparisons of a table's values at its tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mate_cli.encoding import encode as encode_module
from mate_cli.encoding.encode import encode
from mate_cli.encoding.features import EncodingOptions, Features
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.columns import EQUAL, GREATER, LESS, ColumnValues, column_values
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tables.user_limits import table_of
from tests.encoding.test_encode import one

RIVERS = Table(
    "rivers",
    (Cell("x"), Cell("year"), Cell("km")),
    (
        (Cell("red", ("p",)), Cell("2005"), Cell("1,200")),
        (Cell("blue"), Cell("1999"), Cell("1e40")),
        (Cell("x"), Cell("2005 ?"), Cell("about 950")),
    ),
)


@pytest.mark.parametrize("options", [{}, {"input": "table"}, {"histogram_row": True}, {"sentences": None}])
def test_values_of_the_table_at_its_tokens(tokenizer: CellTokenizer, options: dict[str, object]) -> None:
    example = Example("q", "1200 red in 2000", RIVERS, passages={"p": "7 7 7"})
    features = one(example, tokenizer, **options)
    assert isinstance(features, Features)
    names = ("column_rank", "inv_column_rank", "numeric_relation")
    at_tokens = zip(features.row, features.column, *(getattr(features, name) for name in names), strict=True)
    marks = {(int(row) - 1, int(column) - 1): tuple(map(int, ranks)) for row, column, *ranks in at_tokens}
    assert {place: ranks for place, ranks in marks.items() if any(ranks)} == {
        (0, 1): (2, 1, LESS),
        (1, 1): (1, 2, GREATER),
        (2, 1): (2, 1, LESS),
        (0, 2): (2, 2, EQUAL | GREATER),  # 2000 is a number too
        (1, 2): (3, 1, LESS),
        (2, 2): (1, 3, GREATER),
    }
    numbers = np.array([np.nan] * 2 + [1200] + [np.nan] * 5 + [950], dtype=np.float32)
    np.testing.assert_array_equal(features.cell_value, numbers)


def test_a_users_table_and_questions_on_it_are_read_as_people_write_them(tokenizer: CellTokenizer) -> None:
    cells = [["$1.2 million", "30/6/2024"], ["$950,000", "1/7/2024"]]
    own = table_of(Path("own.csv"), ["km", "year"], cells)
    released = Table("t", own.header, tuple(tuple(map(Cell, row)) for row in cells))
    assert _ranks_and_bits(own, tokenizer) == ([2, 1, 1, 2], {LESS, GREATER})
    assert _ranks_and_bits(released, tokenizer) == ([1, 2, 2, 1], {LESS, EQUAL})


def _ranks_and_bits(table: Table, tokenizer: CellTokenizer) -> tuple[list[int], set[int]]:
    """The ranks in the columns of two rows, and the relations of cells to the number of a question."""
    features = one(Example("q", "1 million", table), tokenizer)
    assert isinstance(features, Features)
    places = zip(features.column.tolist(), features.row.tolist(), features.column_rank.tolist(), strict=True)
    ranks = {(column, row): rank for column, row, rank in places if rank}
    return [ranks[place] for place in sorted(ranks)], {int(bits) for bits in features.numeric_relation if bits}


@pytest.mark.parametrize("options", [{"input": "passages"}, {"spans": True}])
def test_what_reads_no_table_compares_nothing(tokenizer: CellTokenizer, options: dict[str, object]) -> None:
    features = one(Example("q", "1200", RIVERS, passages={"p": "7 7 7"}), tokenizer, **options)
    assert isinstance(features, Features)
    assert not np.any([features.column_rank, features.inv_column_rank, features.numeric_relation])
    assert len(features.cell_value) == 9
    assert np.isnan(features.cell_value).all()


def test_ranks_are_not_clamped_and_read_once(tokenizer: CellTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("long", (Cell("km"),), tuple((Cell(str(number)),) for number in range(700)))
    read = []

    def counted(table: Table) -> ColumnValues:
        read.append(table)
        return column_values(table)

    monkeypatch.setattr(encode_module, "column_values", counted)
    many = encode([Example("a", "who", table), Example("b", "699", table)], tokenizer, EncodingOptions(8192))
    assert read == [table]
    for encoded in many:
        assert encoded.features.column_rank.max() == encoded.features.inv_column_rank.max() == 700
    assert set(many[1].features.numeric_relation) == {0, EQUAL, GREATER}
