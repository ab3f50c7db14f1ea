"""Examples to arrays: coordinates, truncation, positions, labels, what is left out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import ARRAYS, NO_ANSWER, EncodingOptions, Features, TooLarge
from mate_cli.encoding.linearize import pieces_per_cell
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Cell, Example, Table

WORDS = (
    "red",
    "unbelievable",
    "players",
    "Café",
    "running",
    "2005",
    "x" * 9,
    "-",
    "the",
    "volcano",
    ",",
    "n/a",
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    columns = draw(st.integers(1, 4))
    lines = draw(st.lists(st.lists(TEXTS, min_size=columns, max_size=columns), min_size=1, max_size=6))
    header, *rows = (tuple(Cell(text) for text in line) for line in lines)
    places = [(row, column) for row in range(len(rows)) for column in range(columns)]
    some = st.sets(st.sampled_from(places)).map(lambda cells: tuple(sorted(cells))) if places else st.just(())
    return Example("id", draw(TEXTS), Table("t", header, tuple(rows)), candidates=draw(some), previous=draw(some))


def one(example: Example, tokenizer: CellTokenizer, **options: object) -> Features | TooLarge:
    return encode([example], tokenizer, EncodingOptions(**options))[0].outcome  # type: ignore[arg-type]


def cells(features: Features) -> dict[tuple[int, int, int], list[int]]:
    """(segment, row, column) -> ids, from the arrays alone."""
    by_place: dict[tuple[int, int, int], list[int]] = {}
    places = zip(features.segment, features.row, features.column, features.input_ids, strict=True)
    for segment, row, column, number in places:
        by_place.setdefault((int(segment), int(row), int(column)), []).append(int(number))
    return by_place


def expected_cells(example: Example, tokenizer: CellTokenizer) -> dict[tuple[int, int, int], list[int]]:
    question = [tokenizer.cls, *tokenizer.batch([example.question]).ids.tolist(), tokenizer.sep]
    lines = (example.table.header, *example.table.rows)
    return {(0, 0, 0): question} | {
        (1, row, column): tokenizer.batch([cell.text]).ids.tolist()
        for row, line in enumerate(lines)
        for column, cell in enumerate(line, start=1)
    }


@given(example=examples())
def test_tokens_and_coordinates_give_the_table_back(tokenizer: CellTokenizer, example: Example) -> None:
    features = one(example, tokenizer)
    assert isinstance(features, Features)
    expected = expected_cells(example, tokenizer)
    assert cells(features) == expected
    assert list(cells(features)) == list(expected), "question, header, then row by row"


@given(example=examples(), limit=st.integers(3, 150))
def test_truncation(tokenizer: CellTokenizer, example: Example, limit: int) -> None:
    full, cut = one(example, tokenizer), one(example, tokenizer, max_tokens=limit)
    assert isinstance(full, Features)
    if isinstance(cut, TooLarge):
        assert cut.needed > limit == cut.limit
        at_need = one(example, tokenizer, max_tokens=cut.needed)
        assert isinstance(at_need, Features)
        assert len(at_need) == cut.needed
        return
    assert len(cut) == len(full) if len(full) <= limit else len(cut) <= limit
    before, after = cells(full), cells(cut)
    assert list(after) == list(before), "no cell is dropped"
    assert after[0, 0, 0] == before[0, 0, 0], "the question stays whole"
    assert all(before[place][: len(kept)] == kept for place, kept in after.items())


@given(example=examples(), limits=st.tuples(st.integers(3, 120), st.integers(0, 40)))
def test_more_tokens_keep_more_of_every_cell(
    tokenizer: CellTokenizer, example: Example, limits: tuple[int, int]
) -> None:
    less = one(example, tokenizer, max_tokens=limits[0])
    more = one(example, tokenizer, max_tokens=sum(limits))
    assume(isinstance(less, Features))
    assert isinstance(less, Features)
    assert isinstance(more, Features), "what fits a limit fits a higher one"
    longer = cells(more)
    assert all(len(longer[place]) >= len(kept) for place, kept in cells(less).items())


@st.composite
def word_lengths(draw: st.DrawFn) -> list[list[int]]:
    """For each cell the numbers of pieces of its words."""
    return draw(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=8))


def kept_pieces(cell: list[int], k: int) -> int:
    """Pieces of a cell whose word starts before piece k, counted word by word."""
    kept = start = 0
    for length in cell:
        kept += length if start < k else 0
        start += length
    return kept


@given(table=word_lengths(), budget=st.integers(-3, 80))
def test_largest_number_of_pieces_that_fits(table: list[list[int]], budget: int) -> None:
    starts = [np.repeat(np.cumsum([0, *cell[:-1]]), cell) for cell in table]
    longest = max(sum(cell) for cell in table)
    costs = [sum(kept_pieces(cell, k) for cell in table) for k in range(1, longest + 1)]
    fitting = [k for k, cost in enumerate(costs, start=1) if cost <= budget]
    k = pieces_per_cell(np.concatenate(starts), budget)
    if not fitting:
        assert k == 0
    else:
        assert k >= 1
        assert costs[min(k, longest) - 1] == costs[fitting[-1] - 1], "the same words as the largest k keeps"


@given(example=examples(), max_positions=st.integers(1, 12))
def test_positions_count_within_each_cell(tokenizer: CellTokenizer, example: Example, max_positions: int) -> None:
    features = one(example, tokenizer, max_positions=max_positions)
    assert isinstance(features, Features)
    seen: dict[tuple[int, int], int] = {}
    for row, column, position in zip(features.row, features.column, features.position, strict=True):
        count = seen.get((row, column), 0)
        assert position == min(count, max_positions - 1)
        seen[row, column] = count + 1


@given(example=examples(), max_positions=st.integers(1, 12))
def test_positions_count_down_each_column(tokenizer: CellTokenizer, example: Example, max_positions: int) -> None:
    features = one(example, tokenizer, positions="column", max_positions=max_positions)
    assert isinstance(features, Features)
    seen: dict[int, int] = {}
    for column, position in zip(features.column, features.position, strict=True):
        count = seen.get(column, 0)
        assert position == count % max_positions
        seen[column] = count + 1


def test_absolute_positions(tokenizer: CellTokenizer) -> None:
    example = Example("q", "who", Table("t", (Cell("red"),), ((Cell("x y z"),),)))
    features = one(example, tokenizer, positions="sequence", max_tokens=12, max_positions=12)
    assert isinstance(features, Features)
    assert features.position.tolist() == list(range(7))
    with pytest.raises(UserError, match="positions of the backbone"):
        EncodingOptions(max_tokens=13, max_positions=12, positions="sequence")


@given(example=examples(), limit=st.integers(20, 120))
def test_labels_are_the_kept_tokens_of_their_cells(tokenizer: CellTokenizer, example: Example, limit: int) -> None:
    features = one(example, tokenizer, max_tokens=limit)
    assume(isinstance(features, Features))
    assert isinstance(features, Features)
    places = list(zip(features.row.tolist(), features.column.tolist(), strict=True))
    for cells, labels in ((example.candidates, features.labels), (example.previous, features.prev_label)):
        wanted = {(row + 1, column + 1) for row, column in cells}
        assert labels.tolist() == [int(place in wanted) for place in places]
        assert {place for place, label in zip(places, labels, strict=True) if label} == wanted


@given(many=st.lists(examples(), max_size=4))
def test_a_batch_is_its_examples_one_by_one(tokenizer: CellTokenizer, many: list[Example]) -> None:
    options = EncodingOptions(max_tokens=60)
    for example, together in zip(many, encode(many, tokenizer, options), strict=True):
        (alone,) = encode([example], tokenizer, options)
        assert alone.full_length == together.full_length
        if isinstance(alone.outcome, TooLarge):
            assert together.outcome == alone.outcome
        else:
            assert cells(together.features) == cells(alone.features)


def test_large_tables_have_no_limit_but_tokens(tokenizer: CellTokenizer) -> None:
    rows, columns = 700, 40
    body = tuple(tuple(Cell(f"{row % 3 + 1}") for _ in range(columns)) for row in range(rows))
    table = Table("large", tuple(Cell("x") for _ in range(columns)), body)
    features = one(Example("q", "who", table, candidates=((699, 39),)), tokenizer, max_tokens=30_000)
    assert isinstance(features, Features)
    assert (features.row.max(), features.column.max()) == (700, 40)
    assert features.labels.sum() == features.labels[-1] == 1


@pytest.mark.parametrize("table", [Table("t", (), ()), Table("t", (), ((), ())), Table("t", (Cell("red"),), ())])
def test_tables_without_cells(tokenizer: CellTokenizer, table: Table) -> None:
    features = one(Example("q", "who", table), tokenizer)
    assert isinstance(features, Features)
    assert len(features) == 3 + len(table.header)


def test_what_does_not_fit_names_table_need_and_limit(tokenizer: CellTokenizer) -> None:
    table = Table("rivers", (Cell("city"),), tuple((Cell("unbelievable"),) for _ in range(5)))
    encoded = encode([Example("q", "who", table)], tokenizer, EncodingOptions(max_tokens=18))[0]
    assert isinstance(encoded.outcome, TooLarge)
    for part in ("'rivers'", "19 tokens", "limit is 18"):
        assert part in encoded.outcome.reason
    assert (encoded.full_length, encoded.answer_in_input) == (19, False)
    with pytest.raises(UserError, match="'rivers'"):
        _ = encoded.features


def test_a_question_over_the_limit_is_named(tokenizer: CellTokenizer) -> None:
    outcome = one(Example("q", "red " * 20, Table("t", (Cell("x"),), ())), tokenizer, max_tokens=20)
    assert isinstance(outcome, TooLarge)
    assert "the question about table 't' alone has 22 tokens" in outcome.reason


def test_truncation_is_counted(tokenizer: CellTokenizer) -> None:
    table = Table("t", (Cell("city"),), ((Cell("x y z x y z"),), (Cell("red"),)))
    encoded = encode([Example("q", "who", table)], tokenizer, EncodingOptions(max_tokens=8))[0]
    assert (encoded.full_length, len(encoded.features)) == (11, 8)


@pytest.mark.parametrize(
    ("cell", "answer", "max_tokens", "is_in_input"),
    [
        ("red river", "The River", 20, True),
        ("red river", "river", 6, False),  # one word a cell is left
        ("red river", "red", 6, True),
        ("x-y (z)", "y z", 20, True),
        ("x-y (z)", "x z", 20, False),
        ("players", "play", 20, False),  # a part of a word
        ("Café", "cafe", 20, True),
        ("a", "A", 20, True),  # nothing but an article: the cell must read so
        ("a red", "A", 20, False),
    ],
)
def test_answer_in_input(tokenizer: CellTokenizer, cell: str, answer: str, max_tokens: int, is_in_input: bool) -> None:
    table = Table("t", (Cell("city"),), ((Cell("blue"),), (Cell(cell),)))
    for candidates, expected in ((((1, 0),), is_in_input), ((), False), (((0, 0),), False)):
        example = Example("q", "who", table, (answer,), candidates=candidates)
        assert encode([example], tokenizer, EncodingOptions(max_tokens))[0].answer_in_input is expected


def test_answer_must_stand_in_one_cell(tokenizer: CellTokenizer) -> None:
    table = Table("t", (Cell("x"), Cell("y")), ((Cell("new"), Cell("york")),))
    example = Example("q", "who", table, ("New York",), candidates=((0, 0), (0, 1)))
    assert not encode([example], tokenizer, EncodingOptions())[0].answer_in_input


@pytest.mark.parametrize("values", [{"max_tokens": 2}, {"sentences": -1}, {"max_positions": 0}])
def test_options_out_of_range(values: dict[str, object]) -> None:
    with pytest.raises(UserError):
        EncodingOptions(**values)  # type: ignore[arg-type]


def test_a_table_without_the_answer_is_not_one_whose_answer_is_unknown(tokenizer: CellTokenizer) -> None:
    table = Table("t", (Cell("a"), Cell("b")), ((Cell("x"), Cell("y")),))
    known = {"cells": ("y",), "none": (), "blind": None}
    examples = [Example(name, "which", table, answers, operator="NONE") for name, answers in known.items()]
    examples.append(Example("unknown operator", "which", table, ("y",)))
    rows = [
        row_of(e, encoded) for e, encoded in zip(examples, encode(examples, tokenizer, EncodingOptions()), strict=True)
    ]
    assert [row["operator"] for row in rows] == [0, NO_ANSWER, 0, -1]


def test_int32_arrays_of_one_length(tokenizer: CellTokenizer) -> None:
    features = one(Example("q", "who", Table("t", (Cell("x"),), ((Cell("y"),),))), tokenizer)
    assert isinstance(features, Features)
    arrays = [getattr(features, name) for name in ARRAYS]
    assert features.characters is None
    assert {array.dtype for array in arrays} == {np.dtype("int32")}
    assert all(len(one) == len(other) for one, other in pairwise(arrays))
