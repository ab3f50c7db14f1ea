"""Floating-point numbers as cells: in plain digits, the same from each format, in the order of the numbers."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.columns import column_values
from mate_cli.tables.float_text import float_text, without_exponent
from mate_cli.tables.table import Table
from mate_cli.tables.user_arrow import frame_table
from mate_cli.tables.user_table import open_table

NUMBERS = [25462700000000.0, 1.7e12, 0.00005, 0.2, 3.0, 1e20]
TEXTS = ["25462700000000", "1700000000000", "0.00005", "0.2", "3", "100000000000000000000"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_digits_are_those_of_the_number(number: float) -> None:
    text = float_text(number)
    assert float(text) == number
    assert "e" not in text or len(f"{abs(number):.0f}") > 20 or abs(number) < 1e-4


def test_what_is_no_finite_number_or_too_long_stays() -> None:
    assert [float_text(number) for number in (math.inf, 1e-40, 1e300)] == ["inf", "1e-40", "1e+300"]
    assert without_exponent("1.50") == "1.50"


def read(form: str, folder: Path) -> Table:
    frame = pd.DataFrame({"size": NUMBERS})
    file = folder / f"t.{form}"
    match form:
        case "frame":
            return frame_table(frame)
        case "parquet":
            frame.to_parquet(file)
        case "xlsx":
            frame.to_excel(file, index=False)
        case "json":
            file.write_text(json.dumps([{"size": number} for number in NUMBERS]))
        case "sqlite":
            with closing(sqlite3.connect(file)) as connection:
                frame.to_sql("t", connection, index=False)
    return open_table(str(file))[0]


@pytest.mark.parametrize("form", ["frame", "parquet", "xlsx", "json", "sqlite"])
def test_every_format_gives_the_same_texts_in_the_order_of_the_numbers(form: str, tmp_path: Path) -> None:
    table = read(form, tmp_path)
    assert [row[0].text for row in table.rows] == TEXTS
    ranks = [int(rank) for rank in column_values(table).rank[:, 0]]
    assert ranks == [1 + sorted(NUMBERS).index(number) for number in NUMBERS]
