"""Odd tables and questions through the encoding, down to the rows of a cache: arrays that hold together, and soon."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import Encoded, EncodingOptions, Features, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.encoding.writer import write_rows
from mate_cli.tables.table import Cell, Coordinate, Example, Table
from tests.fuzz.mutations import NASTY_TEXTS
from tests.fuzz.test_formats import FEW, MANY

_VOCABULARY = Path(__file__).parents[1] / "encoding" / "vocabulary"
_TEXTS = st.sampled_from((*NASTY_TEXTS, "the cat", "Elm 20", "1,000", "5 May 2001", "cat . cat ! dog ?", "c" * 201))
_LINKS = ("/a", "/b")
_OPTIONS = st.builds(
    EncodingOptions,
    max_tokens=st.sampled_from((3, 8, 32, 128, 512)),
    sentences=st.sampled_from((None, 0, 2)),
    input=st.sampled_from(("both", "table", "passages")),
    histogram_row=st.booleans(),
    spans=st.booleans(),
    prune=st.sampled_from(("none", "none", "hem")),
    whole_answer=st.booleans(),
)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """A question on a table of up to 4 by 4 cells; any of it may be empty, or nasty."""
    columns, rows = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    cells = st.builds(Cell, _TEXTS, st.sampled_from(((), (), _LINKS[:1], _LINKS)))
    row = st.lists(cells, min_size=columns, max_size=columns).map(tuple)
    table = Table("t", draw(row), tuple(draw(row) for _ in range(rows)), draw(_TEXTS))
    places = st.lists(
        st.tuples(st.integers(0, max(rows - 1, 0)), st.integers(0, max(columns - 1, 0))), max_size=3, unique=True
    )

    def some_cells() -> tuple[Coordinate, ...]:
        return tuple(sorted(draw(places))) if rows and columns else ()

    return Example(
        *("q", draw(_TEXTS), table),
        answers=draw(st.sampled_from((None, (), ("cat",), ("",), ("\0",), ("elm", "\u0130")))),
        passages={link: draw(_TEXTS) for link in _LINKS},
        candidates=some_cells(),
        previous=some_cells(),
        earlier=(draw(_TEXTS),),
    )


def check(example: Example, encoded: Encoded, options: EncodingOptions, pieces: int) -> str:
    """What came of an example, after a check of all that must hold of its arrays."""
    outcome = encoded.outcome
    if isinstance(outcome, TooLarge):
        assert outcome.needed > options.max_tokens
        return "too large"
    assert isinstance(outcome, Features)
    body = len(example.table.rows) + options.histogram_row
    assert 2 <= len(outcome) <= options.max_tokens
    for array, limit in (
        (outcome.input_ids, pieces),
        (outcome.row, body + 1),
        (outcome.position, options.max_positions),
    ):
        assert array.min() >= 0
        assert array.max() < limit
    assert outcome.column.max() <= example.table.num_columns
    labelled = outcome.labels > 0
    assert {(r - 1, c - 1) for r, c in zip(outcome.row[labelled], outcome.column[labelled], strict=True)} <= {
        *example.candidates
    }
    row = row_of(example, encoded)
    assert len(row["input_ids"]) == row["length"]
    if options.spans and options.input == "table":
        check_characters(example, outcome)
    return "result"


def check_characters(example: Example, features: Features) -> None:
    """Each token of the body names characters that its cell has."""
    assert features.characters is not None
    for row, column, (start, end) in zip(features.row, features.column, features.characters, strict=True):
        if 0 < row <= example.table.num_rows:
            assert 0 <= start <= end <= len(example.table.rows[row - 1][column - 1].text)


def fuzz(folder: Path, count: int, record: Callable[[str, Any], None]) -> None:
    tokenizer, counts = CellTokenizer(_VOCABULARY), Counter[str]()

    @settings(max_examples=count, database=None, derandomize=count == FEW, suppress_health_check=[*HealthCheck])
    @given(st.lists(examples(), min_size=1, max_size=2), _OPTIONS)
    def odd(some: list[Example], options: EncodingOptions) -> None:
        counts["inputs"] += 1
        started = time.process_time()
        found = [
            check(example, encoded, options, len(tokenizer.vocabulary))
            for example, encoded in zip(some, encode(some, tokenizer, options), strict=True)
        ]
        outcomes = write_rows(folder / "rows.arrow", some, tokenizer, options, 1, lambda number: None)
        assert len(outcomes) == len(some)
        assert time.process_time() - started < 5
        counts["too large" if "too large" in found else "result"] += 1

    try:
        odd()
    finally:
        record("fuzz", ["encoding", counts["inputs"], counts["result"], counts["too large"]])


def test_a_few_odd_tables(tmp_path: Path, record_property: Callable[[str, Any], None]) -> None:
    fuzz(tmp_path, FEW, record_property)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_many_odd_tables(tmp_path: Path, record_property: Callable[[str, Any], None]) -> None:
    fuzz(tmp_path, MANY, record_property)
