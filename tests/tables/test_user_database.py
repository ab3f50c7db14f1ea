"""Tables, views and queries of SQLite and DuckDB files, which stay as they are."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from mate_cli.system.errors import Preempted, UserError
from mate_cli.system.stopping import stopping_tidily
from mate_cli.tables import user_database
from mate_cli.tables.user_limits import MAX_ROWS
from mate_cli.tables.user_table import read_table

CITIES = """
CREATE TABLE cities (name TEXT, people INTEGER, area DOUBLE);
INSERT INTO cities VALUES ('Thun', 43743, 21.58), ('Bern', 134506, NULL), ('a "b" #1', 0, 1);
"""
MORE = 'CREATE TABLE "two words" (x INTEGER); CREATE VIEW large AS SELECT name FROM cities WHERE people > 100000;'
TEXTS = [["name", "people", "area"], ["Thun", "43743", "21.58"], ["Bern", "134506", ""], ['a "b" #1', "0", "1"]]


def texts(place: str | Path) -> list[list[str]]:
    table = read_table(place)
    return [[cell.text for cell in row] for row in (table.header, *table.rows)]


def sqlite_file(folder: Path, script: str) -> Path:
    connection = sqlite3.connect(folder / "t.db")
    connection.executescript(script)
    connection.close()
    return folder / "t.db"


def duckdb_file(folder: Path, script: str) -> Path:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(script)
    return folder / "t.duckdb"


@pytest.fixture(params=[sqlite_file, duckdb_file])
def file_of(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Path]:
    return lambda script: request.param(tmp_path, script)


def test_the_only_table_needs_no_name(file_of: Callable[[str], Path]) -> None:
    path = file_of(CITIES)
    assert texts(path) == TEXTS
    assert read_table(path).title == "cities"


def test_without_a_name_after_the_sign_the_tables_are_listed(file_of: Callable[[str], Path]) -> None:
    path = file_of(CITIES + MORE)
    with pytest.raises(UserError, match=r"has 3 tables \(cities, large, two words\); name one"):
        read_table(f"{path}#")


def test_names_that_only_begin_like_those_of_sqlite_are_tables(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path, "CREATE TABLE sqlite9 (a); INSERT INTO sqlite9 VALUES (1)")
    assert texts(path) == [["a"], ["1"]]


@pytest.mark.parametrize("part", ["", "#t"])
def test_a_database_without_tables(part: str, tmp_path: Path) -> None:
    path = sqlite_file(tmp_path, "CREATE TABLE t (a); DROP TABLE t")
    with pytest.raises(UserError, match=r"t\.db: has no table; ask a query of your own"):
        read_table(f"{path}{part}")


def test_tables_views_and_queries(file_of: Callable[[str], Path]) -> None:
    path = file_of(CITIES + MORE)
    assert texts(f"{path}#cities") == TEXTS
    assert texts(f"{path}#large") == [["name"], ["Bern"]]
    asked = f"{path}#select name, people / 2 as half from cities where name like '%#%' -- a//b"
    assert texts(asked)[0] == ["name", "half"]
    assert texts(asked)[1][0] == 'a "b" #1'
    assert texts(f"{path}#WITH x AS (SELECT 1 AS one) SELECT * FROM x") == [["one"], ["1"]]
    with pytest.raises(UserError, match=r"has 3 tables \(cities, large, two words\); name one, or ask: table='"):
        read_table(path)
    with pytest.raises(UserError, match=r"unknown table 'city': did you mean cities\?"):
        read_table(f"{path}#city")
    with pytest.raises(UserError, match="no rows below the header"):
        read_table(f"{path}#two words")
    with pytest.raises(UserError, match="cannot read this"):
        read_table(f"{path}#select nothing from nowhere")


def test_a_query_cannot_write(file_of: Callable[[str], Path], tmp_path: Path) -> None:
    path = file_of(CITIES)
    before = path.read_bytes()
    for query in (
        "with x as (select 1) insert into cities select 'x', 1, 1 from x",
        "select 1; drop table cities",
    ):
        with pytest.raises(UserError, match=r"may only read|cannot read this"):
            read_table(f"{path}#{query}")
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name]


def test_a_query_reaches_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("word\nxyzzy\n")
    path = duckdb_file(tmp_path, CITIES)
    with pytest.raises(UserError, match=r"may only read|cannot read this"):
        read_table(f"{path}#select * from read_csv('{tmp_path / 'secret.csv'}')")


def test_an_endless_query_ends(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path, CITIES)
    with pytest.raises(UserError, match=f"more than {MAX_ROWS} rows"):
        read_table(f"{path}#with recursive n(x) as (select 1 union all select x + 1 from n) select x from n")


ENDLESS = "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r"


def test_a_query_that_takes_too_long_is_ended(file_of: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_database, "_MOST_SECONDS", 0.3)
    path = file_of(CITIES)
    with pytest.raises(UserError, match=r"the query takes longer than 0\.3 seconds; ask for less, or save its result"):
        read_table(f"{path}#{ENDLESS}")
    assert texts(path) == TEXTS


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Preempted)])
def test_a_query_can_be_interrupted(
    number: signal.Signals,
    raised: type[KeyboardInterrupt],
    file_of: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(user_database, "_MOST_SECONDS", 2)  # DuckDB then looks for signals
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), number))
    timer.start()
    try:
        with stopping_tidily(), pytest.raises(KeyboardInterrupt) as caught:
            read_table(f"{file_of(CITIES)}#{ENDLESS}")
        assert caught.type is raised
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("query", ["drop table cities", "Insert into cities values (1, 2, 3)", " pragma user_version"])
def test_a_query_that_would_write_is_named_as_such(query: str, file_of: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match=f"only queries that read are run, as .*, not '{re.escape(query)}'"):
        read_table(f"{file_of(CITIES)}#{query}")


def test_what_is_no_database(tmp_path: Path) -> None:
    for name in ("t.db", "t.duckdb"):
        (tmp_path / name).write_bytes(b"no database" * 1000)
        with pytest.raises(UserError, match=rf"{name}: (SQLite|DuckDB) cannot read this"):
            read_table(tmp_path / name)
        with pytest.raises(UserError, match="cannot be read"):
            read_table(tmp_path / f"none-{name}")
    (tmp_path / "empty.db").write_bytes(b"")
    with pytest.raises(UserError, match="has no table; ask a query"):
        read_table(tmp_path / "empty.db")


def test_without_the_library_of_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UserError, match=r"reading DuckDB needs its library; pip install '.\[duckdb\]'"):
        read_table(tmp_path / "t.duckdb")


def test_other_formats_have_no_parts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "t.csv#x.csv").write_text("b\n2\n")
    assert texts(f"{tmp_path / 't.csv'}#x.csv") == [["b"], ["2"]]  # a file with that very name
    with pytest.raises(UserError, match=r"a file in \.csv is one table; leave out #y"):
        read_table(f"{tmp_path / 't.csv'}#y")
