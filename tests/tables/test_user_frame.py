"""Data frames as tables."""

from __future__ import annotations

import ast
import datetime
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.user_arrow import frame_table, read_parquet


def texts(frame: pd.DataFrame) -> list[list[str]]:
    return [[cell.text for cell in row] for row in frame_table(frame).rows]


def test_values_become_texts_and_gaps_become_empty_cells() -> None:
    frame = pd.DataFrame(
        {
            "text": ["a ", None, "b"],
            "whole": [1200, None, 3],  # floats, for the gap
            "share": [0.5, np.nan, 1e-7],
            "day": [datetime.date(2021, 3, 4), None, datetime.date(1999, 1, 1)],
            "truth": [True, None, False],
            "mixed": [1, "one", None],
        }
    )
    assert texts(frame) == [
        ["a", "1200", "0.5", "2021-03-04", "true", "1"],
        ["", "", "", "", "", "one"],
        ["b", "3", "0.0000001", "1999-01-01", "false", ""],
    ]


def test_whole_numbers_of_any_size_are_written_out() -> None:
    large = 10**30
    assert texts(pd.DataFrame({"n": [large, 1, None], "m": [2**64, -1, 2**63]})) == [
        [str(large), str(2**64)],
        ["1", "-1"],
        ["", str(2**63)],
    ]


def test_times_read_as_pandas_shows_them(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "month": pd.period_range("2024-03", periods=2, freq="M"),
            "day": pd.to_datetime(["2024-03-01", None]),
            "moment": pd.to_datetime(["2024-03-01", "2024-03-01 10:20"], format="mixed"),
            "zone": pd.to_datetime(["2024-03-01", None]).tz_localize("Europe/Berlin"),
            "clock": [datetime.time(1, 2), None],
            "took": pd.to_timedelta(["1 days 02:00:00", None]),
            "days": pd.to_timedelta(["1 days", "2 days"]),
            "kind": pd.Categorical(pd.to_datetime(["2024-03-01", None])),
        }
    )
    expected = [
        ["2024-03", "2024-03-01", "2024-03-01 00:00:00", "2024-03-01 00:00:00+01:00", "01:02:00", "1 days 02:00:00"],
        ["2024-04", "", "2024-03-01 10:20:00", "", "", ""],
    ]
    assert [row[:6] for row in texts(frame)] == expected
    assert [row[6:] for row in texts(frame)] == [["1 days", "2024-03-01"], ["2 days", ""]]
    frame.to_parquet(tmp_path / "frame.parquet")
    code = (
        "import sys; from pathlib import Path; from mate_cli.tables.user_arrow import read_parquet;"
        "print([[cell.text for cell in row] for row in read_parquet(Path(sys.argv[1])).rows])"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "frame.parquet")]  # a process that knows no types of pandas yet
    read = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert ast.literal_eval(read) == texts(frame)


def test_an_index_with_a_name_is_the_first_column() -> None:
    frame = pd.DataFrame({"city": ["Alder", "Birch", "Cedar"], "year": [2020] * 3, "people": [1, 2, 3]})
    table = frame_table(frame.set_index(["city", "year"]))
    assert [cell.text for cell in table.header] == ["city", "year", "people"]
    assert [cell.text for cell in table.rows[1]] == ["Birch", "2020", "2"]
    spread = frame_table(frame.pivot_table(index="city", columns="year", values=["people"], aggfunc=["sum"]))
    assert [cell.text for cell in spread.header] == ["city", "sum people 2020"]
    again = frame.set_index("city", drop=False)
    assert [cell.text for cell in frame_table(again).header] == ["city", "city", "year", "people"]


def test_labels_may_be_numbers_or_repeat_and_an_index_without_a_name_is_left_out() -> None:
    frame = pd.DataFrame([["x", "y", "z"]], columns=["a", "a", 7], index=["row"])
    assert [cell.text for cell in frame_table(frame).header] == ["a", "a", "7"]
    assert texts(frame) == [["x", "y", "z"]]


def test_a_frame_is_the_table_of_its_parquet_file(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"n": [1.0, 2.5, None], "when": pd.to_datetime(["2020-01-01", None, "2021-05-06 07:08"], format="mixed")}
    )
    frame.to_parquet(tmp_path / "frame.parquet", index=False)
    assert frame_table(frame).rows == read_parquet(tmp_path / "frame.parquet").rows


@pytest.mark.filterwarnings("ignore:The DataFrame has column names of mixed type")
@pytest.mark.parametrize(
    ("index", "columns"),
    [
        (["r", "s"], ["a", "b"]),
        ([("r", "x"), ("s", "y")], ["a", "b"]),
        (None, [("A", "x"), ("A", "it's")]),
        (["r", "s"], [("A", "A", ""), ("", "B, C", "d")]),
    ],
)
def test_names_that_pandas_makes_up_for_parquet_are_as_in_the_frame(
    index: list[object] | None, columns: list[object], tmp_path: Path
) -> None:
    frame = pd.DataFrame([["1", "2"], ["3", "4"]], index, columns)
    frame.to_parquet(tmp_path / "frame.parquet")
    read, expected = read_parquet(tmp_path / "frame.parquet"), frame_table(frame)
    assert (read.header, read.rows) == (expected.header, expected.rows)


@pytest.mark.parametrize(
    "name", ["('A')", "(A, x)", r"('\x', 'a')", "('a', 'b') c", "__index_level_0__ of us", "f('a', 'b')"]
)
def test_names_like_those_of_pandas_stay(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({name: ["1"]}), tmp_path / "t.parquet")
    assert [cell.text for cell in read_parquet(tmp_path / "t.parquet").header] == [name]


def test_a_parquet_file_of_an_index_alone_has_no_columns(tmp_path: Path) -> None:
    pd.DataFrame(index=["r"]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(UserError, match="the table has no columns"):
        read_parquet(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": range(65537)}), "more than 65536 rows"),
    ],
)
def test_a_frame_that_is_no_table_is_one_line(frame: pd.DataFrame, words: str) -> None:
    with pytest.raises(UserError, match=words):
        frame_table(frame)


@pytest.mark.parametrize(
    "column",
    [["\ud800", "x"], [1, "a\udfff"], ["\ud800", 1], [10**30, "\ud800"]],
    ids=["texts", "behind a number", "before a number", "behind a large number"],
)
def test_half_a_character_is_one_line_that_names_the_column(column: list[object]) -> None:
    frame = pd.DataFrame({"city": ["a", "b"], "note": pd.Series(column, dtype=object)})
    with pytest.raises(UserError, match=r"^table: column 'note' has a text with half a character"):
        frame_table(frame)
    header = frame[["city"]].set_axis(pd.Index(["\ud800"], dtype=object), axis=1)
    with pytest.raises(UserError, match=r"^table: column .* has a text with half a character") as error:
        frame_table(header)
    str(error.value).encode()
