"""Data frames as tables."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
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
        ["b", "3", "1e-7", "1999-01-01", "false", ""],
    ]


def test_labels_may_be_numbers_or_repeat_and_the_index_is_left_out() -> None:
    frame = pd.DataFrame([["x", "y", "z"]], columns=["a", "a", 7], index=["row"])
    assert [cell.text for cell in frame_table(frame).header] == ["a", "a", "7"]
    assert texts(frame) == [["x", "y", "z"]]


def test_a_frame_is_the_table_of_its_parquet_file(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"n": [1.0, 2.5, None], "when": pd.to_datetime(["2020-01-01", None, "2021-05-06 07:08"], format="mixed")}
    )
    frame.to_parquet(tmp_path / "frame.parquet", index=False)
    assert frame_table(frame).rows == read_parquet(tmp_path / "frame.parquet").rows


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": range(8193)}), "more than 8192 rows"),
    ],
)
def test_a_frame_that_is_no_table_is_one_line(frame: pd.DataFrame, words: str) -> None:
    with pytest.raises(UserError, match=words):
        frame_table(frame)
