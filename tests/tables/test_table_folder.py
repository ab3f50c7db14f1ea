"""A folder of tables: every format is found, what is broken is named, and the best table comes first."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.table_folder import TableFolder
from mate_cli.tables.user_table import read_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of each format, each with a word of its own; a workbook and a database with two."""
    (tmp_path / "deep" / "down").mkdir(parents=True)
    (tmp_path / "rivers.csv").write_text("river,length\nRhine,1230\n")
    (tmp_path / "deep" / "lakes.tsv").write_text("lake\tdepth\nComo\t425\n")
    (tmp_path / "deep" / "down" / "PEAKS.JSON").write_text(json.dumps([{"peak": "Eiger", "height": 3967}]))
    (tmp_path / "towns.html").write_text("<table><tr><th>town</th></tr><tr><td>Thun</td></tr></table>")
    pd.DataFrame({"bird": ["heron"]}).to_parquet(tmp_path / "birds.parquet")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in {
        "2020": [["ship", "master"], ["Argo", "Jason"]],
        "of the air": [["aircraft"], ["Spirit"]],
    }.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(tmp_path / "vessels.xlsx")
    with sqlite3.connect(tmp_path / "zoo.db") as connection:
        connection.executescript(
            "create table cats (name); insert into cats values ('ocelot');"
            "create table dogs (name); insert into dogs values ('beagle');"
        )
    return tmp_path


NAMES = [
    "birds.parquet",
    "deep/down/PEAKS.JSON",
    "deep/lakes.tsv",
    "rivers.csv",
    "towns.html",
    "vessels.xlsx#2020",
    "vessels.xlsx#of the air",
    "zoo.db#cats",
    "zoo.db#dogs",
]


def test_every_table_is_found_and_read_as_by_itself(folder: Path) -> None:
    tables = TableFolder(folder)
    assert tables.names == NAMES
    assert tables.left_out == []
    for name in NAMES:
        own, alone = tables.read(name), read_table(f"{folder}/{name}")
        assert (own.id, own.header, own.rows, own.title) == (name, alone.header, alone.rows, alone.title)


def test_what_cannot_be_read_is_named_and_left_out(folder: Path) -> None:
    (folder / "cut.xlsx").write_bytes((folder / "vessels.xlsx").read_bytes()[:1000])
    (folder / "ragged.csv").write_text("a,b\n1\n")
    (folder / "false.db").write_bytes(b"no database" * 100)
    with sqlite3.connect(folder / "zoo.db") as connection:
        connection.execute("create table empty (name)")
    for skipped in (".hidden.csv", "~$vessels.xlsx", "notes.pdf"):
        (folder / skipped).write_text("a,b\n1\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.csv").write_text("fruit\nplum\n")
    os.mkfifo(folder / "pipe.csv")
    tables = TableFolder(folder)
    assert tables.names == NAMES
    names = ("cut.xlsx", "false.db", "ragged.csv", "zoo.db")
    for line, name in zip(tables.left_out, names, strict=True):
        assert line.startswith(f"{folder}/{name}: ")
        assert "\n" not in line


def test_files_of_questions_and_answers_are_no_tables(folder: Path) -> None:
    (folder / "asked.csv").write_text("question\nHow long is the Rhine?\n")
    (folder / "asked_more.csv").write_text("table,question,answer\nrivers.csv,How long is the Rhine?,1230\n")
    (folder / "answers.tsv").write_text("question\tanswer\ttable\nHow long is the Rhine?\t1230\trivers.csv\n")
    (folder / "texts.json").write_text('{"Rhine": "a river"}')
    (folder / "faq.csv").write_text("question,answer\nWhen do you open?,at noon\n")
    tables = TableFolder(folder, skipped=[folder / "deep" / ".." / "texts.json", folder / "birds.parquet"])
    assert tables.names == ["deep/down/PEAKS.JSON", "deep/lakes.tsv", "faq.csv", *NAMES[3:]]
    names = ("answers.tsv", "asked.csv", "asked_more.csv")
    assert tables.left_out == [f"{folder}/{name}: it holds questions, not a table" for name in names]


def test_skipped_folders_are_not_looked_into(folder: Path) -> None:
    assert TableFolder(folder, skipped=[folder / "deep"]).names == ["birds.parquet", *NAMES[3:]]
    assert TableFolder(folder / "deep", skipped=[folder / "deep"]).names == ["down/PEAKS.JSON", "lakes.tsv"]


def test_a_folder_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no tables in this folder; the names of tables end in"):
        TableFolder(tmp_path)
    (tmp_path / "a.csv").write_text("a,b\n1\n")
    with pytest.raises(UserError, match=r"left out: .*a\.csv: line 2 has 1 field"):
        TableFolder(tmp_path)
