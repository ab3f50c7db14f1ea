"""The columns that made questions are about: dates as data sets write them, numbers, and cells that say nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from mate_cli.tables.queries.generate import records
from mate_cli.tables.queries.sheet import ColumnType, Sheet, TypedColumn, is_blank, with_things_only
from mate_cli.tables.queries.sources import read_sources
from tests.tables.test_queries import table_of


def column_of(*texts: str, name: str = "x") -> TypedColumn:
    sheet = Sheet(table_of(f"name|{name}", *(f"n{row}|{text}" for row, text in enumerate(texts))))
    return sheet.columns[1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("december 2 , 2001", "january 13 , 2002"),
        ("2001 - 12 - 02", "2002 - 01 - 13"),
        ("2001-12-02", "2002 -01 -13"),
        ("2 december 2001", "jan 13 , 2002"),
    ],
)
def test_dates_may_have_blanks_around_their_marks(first: str, second: str) -> None:
    column = column_of(first, second, "-")
    assert (column.kind, column.keys) == (ColumnType.DATE, ("2001-12-02", "2002-01-13", None))


@pytest.mark.parametrize("text", ["2001 - 2002", "december 2", "2 - 1", "3 - 2001"])
def test_seasons_scores_and_parts_of_dates_are_texts(text: str) -> None:
    assert column_of(text, text, text).kind is ColumnType.TEXT


@pytest.mark.parametrize(
    "text", ["n/a", "N / A", "na", "-", "–", "?", "TBA", "t.b.d.", "unknown", "None", "Not available"]
)
def test_placeholders_are_blank(text: str) -> None:
    assert is_blank(text)
    column = column_of("12", text, "7", "30")
    assert (column.kind, column.keys) == (ColumnType.NUMBER, (12, None, 7, 30))


@pytest.mark.parametrize("text", ["0", "no", "x", "nan", "nana", "tb"])
def test_other_short_texts_are_not_blank(text: str) -> None:
    assert not is_blank(text)


def test_no_question_has_a_placeholder_as_its_answer_or_condition() -> None:
    body = (f"ann {row}|{'tba' if row % 2 else 'rome'}|{'n / a' if row % 3 else row}" for row in range(9))
    made = list(islice(records([table_of("name|place|points", *body)], 0, 0.3), 300))
    assert len(made) > 100
    assert not [record for record in made if {"tba", "n / a"} & {*record["answer"]} or "tba" in record["sql"]]


def test_codes_and_numbers_of_many_digits_are_texts() -> None:
    assert column_of("007", "012", "100").kind is ColumnType.TEXT
    assert column_of("9" * 400, "8" * 400, "1").kind is ColumnType.TEXT
    assert column_of("12345678901234567", "2", "3").kind is ColumnType.TEXT
    assert column_of("0", "0.5", "123456789012345").kind is ColumnType.NUMBER


@pytest.mark.parametrize(
    "name",
    [
        *("Year", "year(s)", "years active", "Season no", "seasons", "Edition", "founded", "built", "established"),
        *("released", "won", "First elected", "ends", "in power since", "last win against", "class", "enrolled (AD)"),
    ],
)
def test_years(name: str) -> None:
    assert column_of("1990", "1875", "2011", name=name).kind is ColumnType.YEAR


@pytest.mark.parametrize(
    "name",
    [
        *("zip code", "Serial No.", "Sr. no", "Bus #", "Engine_No", "against", "points -", "pts", "Total", "net yds"),
        *("net mwe", "Battery ( mAh )", "ddr3 clock (mhz)", "Height in m", "points per season", "Mintage", "Score"),
    ],
)
def test_amounts_and_codes_are_no_years(name: str) -> None:
    assert column_of("1990", "1875", "2011", name=name).kind is ColumnType.NUMBER


def test_rows_of_totals_are_left_out() -> None:
    body = [f"{1990 + row}|{'abcdefghi'[row]}|{row + 1}" for row in range(9)]
    table = table_of("year|team|goals", *body, "|Total|21", "average||3.5", "total (all)||21", "sub - total||21")
    shorter = with_things_only(table)
    assert shorter == replace(table, rows=table.rows[:9])
    assert [column.kind for column in Sheet(shorter).columns][::2] == [ColumnType.YEAR, ColumnType.NUMBER]
    assert with_things_only(shorter) is shorter


@pytest.mark.parametrize(
    "rows",
    [
        ("Total Recall|1990", "Total Eclipse|1995", "The Sum of All Fears|2002", "Average Joe|2003"),
        ("Ann|overall", "Bo|sprint", "Cy|overall", "Di|sum"),
        ("a|1", "b|1", "total|2"),
        ("a|1", "b|1", "total|2", "c|3", "total|3"),
    ],
    ids=["films", "disciplines", "too few other rows", "many totals"],
)
def test_other_rows_stay(rows: tuple[str, ...]) -> None:
    table = table_of("name|year", *rows)
    assert with_things_only(table) is table


def test_headings_between_the_rows_are_left_out() -> None:
    body = [f"{1990 + row}|{'abcdefgh'[row]}|{row + 1}" for row in range(8)]
    table = table_of("year|team|goals", *body[:4], "The war|The war|The war", "Year|Team|Goals", *body[4:])
    assert with_things_only(table).rows == (*table.rows[:4], *table.rows[6:])


def test_rows_of_totals_are_left_out_of_the_tables_to_ask_about(tmp_path: Path) -> None:
    for number in range(6):
        body = [f"{'abcdef'[number]}{row} x,{number + row}" for row in range(6)]
        (tmp_path / f"{number}.csv").write_text("\n".join(["team,wins", *body, "total,99", ""]))
    few = ("team,wins", "a,1", "b,2", "c,3", "total,6", "a,1", "total :,7")
    (tmp_path / "few.csv").write_text("\n".join([*few, ""]))
    sources = read_sources([tmp_path])
    tables = [*sources.train, *sources.dev]
    assert len(tables) == 6
    assert sources.left_out == {"totals among few other rows": [f"{tmp_path.name}/few"]}
    assert {table.num_rows for table in tables} == {6}
