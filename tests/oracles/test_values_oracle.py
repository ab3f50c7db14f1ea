"""Texts, numbers, dates and ranks against the upstream release: ``f_text_normalisation``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate_cli.encoding.pruning import stems
from mate_cli.tables.columns import column_values, consolidated
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text import convert_to_float, format_text, normalize_for_match, words_and_marks, wtq_normalize
from mate_cli.tables.values import Date, Value, find_spans, find_values

pytestmark = pytest.mark.oracles

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"

# Where we differ on purpose, and what we find: the release's "fith" is a slip of the pen, and it looks for "Sept" in
# texts that it has put in lower case.
DIFFERENT = {
    "fith": [],
    "fifth": [(0, 5, [5.0])],
    "sept 5, 2005": [(0, 12, [Date(2005, 9, 5)])],
}


def load() -> Any:
    return json.loads((ORACLES / "f_text_normalisation.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "normalise"),
    [
        ("normalize_for_match", normalize_for_match),
        ("format_text", format_text),
        ("wtq_normalize", wtq_normalize),
        ("tokenize_string", words_and_marks),
    ],
)
def test_normal_forms(name: str, normalise: Callable[[str], object]) -> None:
    strings = load()["strings"]
    assert len(strings) == 104
    for item in strings:
        assert normalise(item["text"]) == item[name]


def test_stems() -> None:
    for item in load()["strings"]:
        assert stems(item["text"]) == set(item["stemmed_tokens"]), item["text"]


def test_texts_as_numbers() -> None:
    for item in load()["strings"]:
        if item["convert_to_float"] == "ValueError":
            with pytest.raises(ValueError, match="could not convert"):
                convert_to_float(item["text"])
        else:
            assert repr(convert_to_float(item["text"])) == item["convert_to_float"]


def as_value(value: Any) -> Value:
    return Date(**value) if isinstance(value, dict) else value


def test_numbers_and_dates() -> None:
    met = set()
    for item in load()["strings"]:
        text = item["normalize_for_match"]
        ours = [(begin, end, list(values)) for begin, end, values in find_spans(text)]
        theirs = [(begin, end, list(map(as_value, values))) for begin, end, values in item["parse_text_of_normalized"]]
        if text in DIFFERENT:
            assert ours == DIFFERENT[text] != theirs
            met.add(text)
        else:
            assert ours == theirs, text
    assert met == set(DIFFERENT)


def test_a_month_in_capitals_is_the_one_that_the_release_finds_there() -> None:
    (item,) = (item for item in load()["strings"] if item["text"] == "Sept 5, 2005")
    assert [(b, e, list(map(as_value, values))) for b, e, values in item["parse_text_of_raw"]] == DIFFERENT[
        "sept 5, 2005"
    ]


def test_columns() -> None:
    columns = load()["columns"]
    assert len(columns) == 16
    for name, column in columns.items():
        table = Table("t", (Cell("x"),), tuple((Cell(text),) for text in column["cells"]))
        values = column_values(table)
        expected = [as_value(value) for value in column["numeric_values"]]
        assert consolidated([find_values(text) for text in column["cells"]]) == expected, name
        for ranks, key in ((values.rank, "column_rank"), (values.inverse_rank, "inv_column_rank")):
            assert {str(row): rank for row, rank in enumerate(ranks[:, 0]) if rank} == column[key], name
