"""The tables of a bench have the promised shapes."""

from __future__ import annotations

import numpy as np
import pytest

from mate_cli.attention.generated import table_layout
from mate_cli.bench.point import SIZES, Point, documents, packed, suite_points
from mate_cli.config.bench import GENERATED, BenchConfig, GridConfig
from mate_cli.config.bench import SIZES as SIZE_NAMES
from mate_cli.system.errors import UserError


def point(layout: str, length: int, batch: int = 1) -> Point:
    return Point("tiny", 1, layout, length, batch, "forward", "fp32", "cpu")


@pytest.mark.parametrize("shape", sorted(set(GENERATED) - {"mixed"}))
@pytest.mark.parametrize("tokens", [64, 300, 2048])
def test_a_table_is_as_long_as_asked_and_starts_with_its_question(shape: str, tokens: int) -> None:
    layout = table_layout(shape, tokens, seed=1)
    arrays = (layout.document, layout.row, layout.column, layout.segment)
    assert {len(array) for array in arrays} == {tokens}
    assert layout.segment.tolist() == [0] * 20 + [1] * (tokens - 20)
    assert not layout.row[:20].any()
    assert not layout.column[:20].any()
    assert layout.row[20] == 0
    assert set(np.diff(layout.row[20:])) <= {0, 1}


def test_the_shapes_are_those_of_their_names() -> None:
    shapes = ("grid", "long", "wide", "square", "column", "columns_2", "columns_20", "columns_40")
    grid, long, wide, square, column, two, twenty, forty = (table_layout(shape, 2048) for shape in shapes)
    assert two.column.max() == 2
    assert twenty.column.max() == 20
    assert forty.column.max() == 40
    assert column.column.max() == 1
    assert grid.column.max() == 6
    assert long.column.max() == 4
    assert wide.row.max() == 5
    assert abs(int(square.row.max()) - int(square.column.max())) <= 2


def test_cells_have_5_to_12_tokens() -> None:
    layout = table_layout("grid", 2048)
    _, counts = np.unique(np.stack([layout.row, layout.column])[:, 20:], axis=1, return_counts=True)
    assert counts[:-1].min() >= 5  # the last cell is cut where the table is full
    assert counts.max() == 12


def test_a_mixed_batch_has_tables_and_questions_of_unequal_length() -> None:
    tables = documents(point("mixed", 2048, batch=4))
    assert [len(table.row) for table in tables] == [2048, 1638, 1024, 614]
    assert [int((table.segment == 0).sum()) for table in tables] == [20, 12, 30, 16]


def test_a_batch_is_packed_without_padding_and_its_tables_differ() -> None:
    tables = documents(point("grid", 128, batch=3))
    layout = packed(tables)
    assert layout.spans().tolist() == [[0, 128], [128, 256], [256, 384]]
    assert (tables[0].column != tables[1].column).any()
    assert (documents(point("grid", 128, batch=3))[2].column == tables[2].column).all()


def points(**lists: list[object]) -> list[Point]:
    config = BenchConfig()
    config.suite.grids = {"grid": GridConfig(**lists)}  # type: ignore[arg-type]
    return list(suite_points(config, "cpu"))


def test_questions_and_dropouts_are_axes_of_a_grid() -> None:
    found = points(lengths=[256], layouts=["column"], questions=[20, 190], dropouts=[0.0, 0.1])
    assert [(point.question, point.dropout) for point in found] == [(20, 0.0), (190, 0.0), (20, 0.1), (190, 0.1)]
    assert len({point.series for point in found}) == len({str(point) for point in found}) == 4
    assert found[0].series == ("minilm", "column", 1, "forward", "fp32")
    assert [int((documents(point)[0].segment == 0).sum()) for point in found] == [20, 190, 20, 190]


def test_a_question_leaves_place_for_a_table() -> None:
    with pytest.raises(UserError, match=r"questions=\[20, 64\] leave no place for tables of lengths=\[64\]"):
        points(lengths=[64], questions=[20, 64])


def test_the_sizes_of_the_configuration_exist() -> None:
    assert set(SIZE_NAMES) == set(SIZES)
