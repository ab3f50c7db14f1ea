"""Generated questions: always the same ones, about clear tables, in conversations that follow on."""

from __future__ import annotations

import csv
import json
import re
from itertools import islice, pairwise
from pathlib import Path

import pytest

from mate_cli.config.task import QueriesConfig
from mate_cli.metrics.denotation import execute, gold_denotation, normalize_answers, same_denotation
from mate_cli.system.errors import UserError
from mate_cli.tables.aggregation import OPERATORS
from mate_cli.tables.queries import folder as queries
from mate_cli.tables.queries.generate import records, write_questions
from mate_cli.tables.queries.headers import plural, singular
from mate_cli.tables.queries.sheet import ColumnType, Sheet
from mate_cli.tables.table import Cell, Example, Table
from tests.tables.made_tables import made_table
from tests.tables.sqlite_tables import number


def table_of(*rows: str, name: str = "t") -> Table:
    header, *body = ([*map(Cell, row.split("|"))] for row in rows)
    return Table(name, tuple(header), tuple(map(tuple, body)))


def write_tables(folder: Path, count: int) -> Path:
    """Write made tables as CSV files."""
    folder.mkdir()
    for table_number in range(count):
        table = made_table(table_number)
        with (folder / f"{table_number}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([cell.text for cell in row] for row in (table.header, *table.rows))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("queries")
    config = QueriesConfig(questions=400, dev=150, conversations=0.5, unanswerable=0.0)
    return queries.made_folder([write_tables(root / "tables", 12)], config, root / "cache")


def test_the_same_seed_gives_the_same_questions_and_the_first_of_more() -> None:
    tables = [*map(made_table, range(20))]
    first = list(islice(records(tables, 7, 0.4), 300))
    assert list(islice(records(tables[::-1], 7, 0.4), 500))[:300] == first
    other = list(islice(records(tables, 8, 0.4), 300))
    assert {record["question"] for record in other} != {record["question"] for record in first}


def test_splits_have_tables_of_their_own(made: Path) -> None:
    train, dev = (queries.read_split(made, split) for split in ("train", "dev"))
    assert (train.questions, dev.questions) == (400, 150)
    assert {e.table.id for e in train.examples}.isdisjoint(e.table.id for e in dev.examples)
    assert {e.table.id.split("/")[0] for e in (*train.examples, *dev.examples)} == {"tables"}
    ids = [example.id for example in (*train.examples, *dev.examples)]
    assert len(set(ids)) == len(ids)


def test_every_operator_is_asked_for_and_every_question_has_cells(made: Path) -> None:
    train, dev = (queries.read_split(made, split) for split in ("train", "dev"))
    assert (len(train.examples), len(dev.examples)) == (400, 150)
    assert {example.operator for example in train.examples} == {operator.name for operator in OPERATORS}
    for example in (*train.examples, *dev.examples):
        assert example.candidates
        assert (example.operator == "DIFFERENCE") == (example.reasoning == "difference")


def test_the_operator_on_the_cells_gives_the_answer(made: Path) -> None:
    for example in queries.read_split(made, "train").examples:
        texts = [example.table.rows[row][column].text for row, column in example.candidates]
        (operator,) = (operator for operator in OPERATORS if operator.name == example.operator)
        gold = gold_denotation(example)
        assert same_denotation(execute(example.table, example.candidates, operator.name), gold)
        if operator.compute is None:
            as_numbers = tuple(value if (value := number(text)) is not None else text for text in example.answers)
            assert normalize_answers(as_numbers) == normalize_answers(gold)
            assert example.table.everyday or example.answers == tuple(texts)
            assert example.value is None
        else:
            values = texts if operator.counts else [number(text) for text in texts]
            assert operator.compute(values) == pytest.approx(example.value)


def test_a_follow_up_knows_the_question_before_it(made: Path) -> None:
    conversations: dict[str, list[Example]] = {}
    for example in queries.read_split(made, "train").examples:
        if example.conversation:
            conversations.setdefault(example.conversation, []).append(example)
    complete = [turns for turns in conversations.values() if len(turns) > 1]
    assert len(complete) > 40
    for turns in complete:
        assert [turn.position for turn in turns] == [*range(len(turns))]
        for before, after in pairwise(turns):
            assert after.previous == before.candidates
            assert after.earlier == (*before.earlier, before.question)
            assert after.reasoning.startswith("follow-up")
        assert {turn.operator for turn in turns} == {"NONE"}
        assert turns[0].previous == ()
        assert not turns[0].reasoning.startswith("follow-up")


def test_narrowed_answers_are_part_of_the_answer_before(made: Path) -> None:
    narrowed = [e for e in queries.read_split(made, "train").examples if e.reasoning == "follow-up: narrow"]
    assert len(narrowed) > 10
    assert all({*example.candidates} < {*example.previous} for example in narrowed)


def test_share_of_conversations() -> None:
    tables = [*map(made_table, range(40))]
    for share in (0.0, 0.5, 1.0):
        made = list(islice(records(tables, 0, share), 1500))
        in_conversations = sum(bool(record["conversation"]) for record in made) / len(made)
        assert in_conversations == pytest.approx(share, abs=0.12)


def test_the_first_turn_of_each_table_has_the_share_of_conversations_too() -> None:
    made = list(islice(records([*map(made_table, range(400))], 0, 0.4), 150))
    assert 0.2 < sum(bool(record["conversation"]) for record in made) / len(made) < 0.6


def test_columns_have_types() -> None:
    sheet = Sheet(
        table_of(
            "Name|Points|Year|Date|Time|Mixed|Price|Rank|name|",
            "Ann|1,200|1999|5 May 1999|1:20|12|$1,000|1st|x|y",
            "Bo|30|2001|June 7, 2001|0:59|n/a|$20.50|2nd|x|y",
            "Cy|-4|2003|2003-02-01|2:03|old|$3|3rd|x|y",
        )
    )
    types = {column.name: column.kind for column in sheet.columns}
    text, number = ColumnType.TEXT, ColumnType.NUMBER
    assert types == {
        **dict.fromkeys(("Time", "Mixed"), text),
        **dict.fromkeys(("Points", "Price", "Rank"), number),
        "Year": ColumnType.YEAR,
        "Date": ColumnType.DATE,
    }  # two columns are called name, and one has no name
    keys = {column.name: column.keys for column in sheet.columns}
    assert keys["Points"] == (1200, 30, -4)
    assert keys["Date"] == ("1999-05-05", "2001-06-07", "2003-02-01")
    assert keys["Mixed"] == ("12", None, "old")
    assert [column.name for column in sheet.columns if column.adds_up] == ["Points"]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (table_of("a|b", "1|2", "3|4"), "fewer than 3 rows"),
        (table_of("a|a", "1|2", "3|4", "5|6"), "fewer than 2 columns with a clear name"),
        (table_of("a|b", "x|1", "y|2", "total|3"), "totals among few other rows"),
        (table_of("a|b", *["x|y"] * 5), "no column that tells rows apart"),
        (table_of("a|b", *(f"{n}|{n}" for n in range(600))), "more than 1,000 cells"),
    ],
)
def test_tables_that_no_question_can_be_asked_about(table: Table, problem: str) -> None:
    assert Sheet(table).problem == problem


def test_a_wide_table_and_one_of_empty_cells() -> None:
    body = ("|".join(f"{row} {column}" for column in range(300)) for row in range(3))
    wide = table_of("|".join(f"Column {n}" for n in range(300)), *body)
    empty = table_of("a|b|c", "x||", "y|1|", "z||", "w||")
    assert len(list(islice(records([wide], 0, 0.3), 200))) >= 200
    made = list(islice(records([empty], 0, 0.3), 1000))
    assert 0 < len(made) < 1000  # few can be asked, and none twice
    assert all(answer for record in made for answer in record["answer"])


@pytest.mark.parametrize(
    ("one", "many"),
    [("city", "cities"), ("player", "players"), ("match", "matches"), ("class", "classes"), ("specimen", "specimens")],
)
def test_plurals(one: str, many: str) -> None:
    assert (plural(one), singular(many), plural(many)) == (many, one, many)


def test_a_folder_without_a_usable_table_says_why(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"two tables .* are needed; of 3, left out: fewer than 3 rows \(3\)"):
        queries.made_folder([tmp_path], QueriesConfig(), tmp_path / "cache")


def test_a_folder_that_is_missing_or_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        queries.source_folders(tmp_path / "nothing")
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(UserError, match="cannot write the questions") as caught:
        queries.made_folder([write_tables(tmp_path / "tables", 2)], QueriesConfig(), tmp_path / "cache")
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("broken", ["{", '{"id": "x"}\n', "[]\n", '{"id": 1, "table": "none"}\n'])
def test_a_broken_file_is_named(tmp_path: Path, broken: str) -> None:
    (tmp_path / "train.jsonl").write_text(broken)
    (tmp_path / "tables.jsonl").write_text("")
    with pytest.raises(UserError, match=r"train\.jsonl: not a file of questions"):
        queries.read_split(tmp_path, "train")


def test_cells_outside_of_their_table_are_named(tmp_path: Path) -> None:
    write_questions(tmp_path, [write_tables(tmp_path / "tables", 6)], QueriesConfig(questions=20, dev=5))
    train = tmp_path / "train.jsonl"
    first, *others = map(json.loads, train.read_text(encoding="utf-8").splitlines())
    train.write_text("\n".join(map(json.dumps, [first | {"cells": [[500, 0]]}, *others])), encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(f"{first['id']} has cells that {first['table']} lacks")):
        queries.read_split(tmp_path, "train")


def test_what_people_read(tmp_path: Path) -> None:
    sources = write_tables(tmp_path / "tables", 6)
    write_questions(tmp_path, [sources], QueriesConfig(questions=20, dev=5))
    lines = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 20
    assert all(line["sql"].startswith("SELECT ") and line["question"] for line in lines)
    assert all(bool(line["cells"]) == (line["missing"] is None) for line in lines)
    counts = json.loads((tmp_path / "sources.json").read_text())
    assert counts["tables"] == {"train": 3, "dev": 3}
    assert (counts["left_out"], counts["missing"]) == ({}, ["hybridqa", "sqa", "tabfact", "wtq"])
