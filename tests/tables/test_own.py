"""Questions on tables of one's own: what a folder of CSV files becomes, and what is wrong in one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mate_cli.metrics.denotation import answer_texts, execute, gold_denotation, same_denotation
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import split_of
from mate_cli.tables.own import OwnFormat

CELLS, ONE_OF = OwnFormat(alternatives=False), OwnFormat(alternatives=True)

CITIES = "city,mayor,people\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\nCedar,Bob Moe,900\n"
TRAIN = """\
question,table,answer
How many people live in Birch?,cities.csv,800
"Which cities have more than 850 people, if any?",cities.csv,Alder|Cedar
How many people live here?,cities.csv,2900
Who has two cities?,cities.csv,Bob Moe
Which is greener?,cities.csv,neither
What is the oldest ship?,ships/list.json,Argo
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ships").mkdir()
    (tmp_path / "ships/list.json").write_text('[{"ship": "Argo", "built": 1901}, {"ship": "Beagle", "built": 1920}]')
    (tmp_path / "cities.csv").write_text(CITIES)
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "dev.csv").write_text("id,question,table,answer\nq9,Who has two cities?,cities.csv,Bob Moe\n")
    return tmp_path


def test_answers_are_found_in_the_tables(folder: Path) -> None:
    split = CELLS.read_split(folder, "train")
    assert (len(split.examples), split.missing_tables, split.questions) == (6, 0, 6)
    birch, several, total, twice, neither, ship = split.examples
    assert (birch.id, birch.answers, birch.candidates, birch.value) == ("train-1", ("800",), ((1, 2),), 800)
    assert (several.answers, several.candidates) == (("Alder", "Cedar"), ((0, 0), (2, 0)))
    assert (total.candidates, total.value) == ((), 2900)
    assert ship.table.id == "ships/list.json"
    assert ship.candidates == ((0, 0),)
    assert dict(split.unsupervised) == {
        twice.id: "an answer is in several cells",
        neither.id: "its answer is neither in the table nor a number",
    }
    assert birch.table is neither.table


@pytest.mark.parametrize(
    ("answer", "plain", "cells", "value"),
    [
        ("$1,200", ("1200",), ((0, 1),), 1200),
        ("($30)", ("-30",), ((2, 1),), -30),
        ("$1,500", ("1500",), (), 1500),  # the sum of the two
        ("1500", ("1500",), (), 1500),
        ("7½ kg", ("7.5",), ((0, 2),), 7.5),
        ("7.25 kg", ("7.25",), (), 7.25),
        ("pen|Ink", ("Pen", "Ink"), ((0, 0), (1, 0)), None),
        ("$1,200|Ink", ("1200", "Ink"), ((0, 1), (1, 0)), None),
        ("dear", ("dear",), (), None),
    ],
)
def test_numbers_are_read_as_people_write_them(
    tmp_path: Path, answer: str, plain: tuple[str, ...], cells: tuple[tuple[int, int], ...], value: float | None
) -> None:
    (tmp_path / "wares.tsv").write_text(
        "ware\tprice\tweight\nPen\t$1,200\t7½ kg\nInk\t$300\t2 kg\nCap\t($30)\t\n", encoding="utf-8"
    )
    (tmp_path / "train.tsv").write_text(f"question\ttable\tanswer\nHow much?\twares.tsv\t{answer}\n")
    (example,) = CELLS.read_split(tmp_path, "train").examples
    assert (example.answers, example.candidates, example.value) == (plain, cells, value)
    if cells:
        assert same_denotation(execute(example.table, cells, "NONE"), gold_denotation(example))
        assert answer_texts(example.table, cells, "NONE") == plain


@pytest.mark.parametrize(
    ("answer", "plain", "value"), [("1.300,50 €", "1300.5", 1300.5), ("100,00", "100", 100), ("1.234", "1234", 1234)]
)
def test_the_table_tells_the_decimal_mark_of_an_answer(tmp_path: Path, answer: str, plain: str, value: float) -> None:
    (tmp_path / "preise.csv").write_text("Ware;Preis\nBrot;1.200,50 €\nMilch;0,99 €\n", encoding="utf-8")
    (tmp_path / "dev.csv").write_text(f"question;table;answer\nWie viel?;preise.csv;{answer}\n", encoding="utf-8")
    (example,) = CELLS.read_split(tmp_path, "dev").examples
    assert (example.answers, example.candidates, example.value) == ((plain,), (), value)
    assert [row[1].number for row in example.table.rows] == [1200.5, 0.99]


def test_outside_of_training_one_of_several_cells_is_taken(folder: Path) -> None:
    (example,) = CELLS.read_split(folder, "dev").examples
    assert (example.id, example.candidates) == ("q9", ((2, 1),))


def test_each_cell_with_an_answer_is_an_alternative(folder: Path) -> None:
    split = ONE_OF.read_split(folder, "train")
    birch, several, total, twice, neither, ship = (example.candidates for example in split.examples)
    assert (birch, several) == (((1, 2),), ((0, 0), (2, 0)))
    assert twice == ((1, 1), (2, 1))
    assert (total, neither, ship) == ((), (), ((0, 0),))
    assert not split.unsupervised


def test_the_files_of_a_split_are_its_questions_and_tables(folder: Path) -> None:
    names = ("train.csv", "cities.csv", "ships/list.json")
    assert CELLS.split_files(folder, "train") == [folder / name for name in names]
    assert CELLS.LAYOUT.present_splits(folder) == ["train", "dev"]
    assert split_of(folder / "dev.csv") == ("own", folder, "dev")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("a,,800", "line 2: column 'table' is empty"),
        ("a,cities.csv, ", "line 2: column 'answer' is empty"),
        ("a,cities.csv,800|", "line 2, column 'answer': expected answers joined by |, found '800|'"),
        ("a,../cities.csv,800", "line 2, column 'table': '../cities.csv' leads out of the data folder"),
        ("a,/etc/passwd,800", "line 2, column 'table': '/etc/passwd' leads out of the data folder"),
        ("a,cities.csv", "line 2: 2 fields, the first line has 3"),
    ],
)
def test_a_wrong_line_is_named(line: str, wrong: str, folder: Path) -> None:
    (folder / "train.csv").write_text(f"question,table,answer\n{line}\n")
    with pytest.raises(UserError) as error:
        CELLS.read_split(folder, "train")
    assert wrong in str(error.value)


@pytest.mark.parametrize(
    ("name", "separator", "encoding"),
    [
        ("train.csv", ";", "utf-8-sig"),
        ("train.csv", ";", "cp1252"),
        ("train.csv", "\t", "utf-16"),
        ("train.tsv", "\t", "utf-8"),
    ],
)
def test_questions_are_read_as_spreadsheets_save_them(name: str, separator: str, encoding: str, folder: Path) -> None:
    (folder / "train.csv").unlink()
    rows = [
        ["question", "table", "answer"],
        ["Wo wohnt die Bürgermeisterin, Ann Lee, für gewöhnlich?", "cities.csv", "Alder|Birch"],
    ]
    (folder / name).write_text("".join(f"{separator.join(row)}\r\n" for row in rows), encoding=encoding, newline="")
    (example,) = CELLS.read_split(folder, "train").examples
    assert (example.question, example.answers) == (rows[1][0], ("Alder", "Birch"))
    assert CELLS.split_files(folder, "train")[0] == folder / name


def test_missing_tables_are_named_with_their_lines_and_the_files_that_may_be_meant(folder: Path) -> None:
    names = ("citties.csv", "cities.csv", "list.json", "ship/list.json", "x.xlsx#Peaks", "citties.csv", "y.csv")
    (folder / "train.csv").write_text("question,table,answer\n" + "".join(f"a,{name},800\n" for name in names))
    with pytest.raises(UserError) as error:
        CELLS.read_split(folder, "train")
    train = folder / "train.csv"
    assert str(error.value).splitlines() == [
        f"{train}: line 2, column 'table': there is no 'citties.csv' in {folder}; did you mean cities.csv?",
        f"{train}: line 4, column 'table': there is no 'list.json' in {folder}; did you mean ships/list.json?",
        f"{train}: line 5, column 'table': there is no 'ship/list.json' in {folder}; did you mean ships/list.json?",
        f"{folder}: 2 more tables are missing",
    ]
    train.write_text("question,table,answer\na,x.xlsx#Peaks,800\n")
    with pytest.raises(UserError, match=r"there is no 'x.xlsx' in .*; put the file there, or correct the name"):
        CELLS.read_split(folder, "train")


def test_a_part_of_a_file_is_named_as_on_the_command_line(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "all.db")) as database, database:
        database.executescript("create table cities (city, people); insert into cities values ('Alder', 1200)")
        database.executescript("create table ships (ship, built); insert into ships values ('Argo', 1901)")
    (folder / "odd#name.csv").write_text(CITIES)
    train = folder / "train.csv"
    train.write_text(
        "question,table,answer\na,all.db#cities,1200\nb,all.db#ships,1901\nc,odd#name.csv,800\n"
        'd,"all.db#select ship from ships where built > 1/1",Argo\n'
    )
    first, second, odd, query = CELLS.read_split(folder, "train").examples
    assert (first.table.id, first.table.title, first.candidates) == ("all.db#cities", "cities", ((0, 1),))
    assert (second.table.header[0].text, odd.table.num_rows, query.candidates) == ("ship", 3, ((0, 0),))
    assert CELLS.split_files(folder, "train") == [train, folder / "all.db", folder / "odd#name.csv"]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("all.db#citys", "all.db: unknown table 'citys': did you mean cities? choose from cities"),
        ("cities.csv#x", "cities.csv#x: a file in .csv is one table; leave out #x"),
        ("note.doc", "note.doc: a table is a file in .csv, "),
        ("../up.db#x", "'../up.db' leads out of the data folder"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_with_its_line(name: str, wrong: str, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "all.db")) as database, database:
        database.execute("create table cities (city)")
    (folder / "note.doc").touch()
    (folder / "train.csv").write_text(f"question,table,answer\na,{name},800\n")
    with pytest.raises(UserError) as error:
        CELLS.read_split(folder, "train")
    assert str(error.value).startswith(f"{folder / 'train.csv'}: line 2, column 'table': ")
    assert wrong in str(error.value)


def test_lines_may_end_as_on_old_macs(folder: Path) -> None:
    (folder / "train.csv").write_bytes(b"question;table;answer\ra;cities.csv;800\r")
    assert [example.answers for example in CELLS.read_split(folder, "train").examples] == [("800",)]


def test_two_files_of_a_split_are_refused(folder: Path) -> None:
    (folder / "train.tsv").write_text("question\ttable\tanswer\n")
    with pytest.raises(UserError, match=r"both train.csv and train.tsv are there; keep one of them"):
        CELLS.read_split(folder, "train")


def test_an_id_twice_and_a_missing_column_are_named(folder: Path) -> None:
    (folder / "dev.csv").write_text("id,question,table,answer\na,b,cities.csv,800\na,c,cities.csv,800\n")
    with pytest.raises(UserError, match="line 3, column 'id': 'a' is the id of another question"):
        CELLS.read_split(folder, "dev")
    (folder / "dev.csv").write_text("question,table\nb,cities.csv\n")
    with pytest.raises(UserError, match="column 'answer' is missing; the first line names question, table"):
        CELLS.read_split(folder, "dev")
