"""The TabFact format on a small release of our own, whole and broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.split_statistics import statistics
from mate_cli.tables.tabfact import LAYOUT, read_split, split_files
from tests.tables.releases import write, write_tabfact


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_tabfact(tmp_path)


def test_statements_with_labels_groups_and_tables(release: Path) -> None:
    split = read_split(release, "test")
    assert (split.questions, split.missing_tables) == (4, 0)
    assert [e.id for e in split.examples] == ["b.html.csv_0", "b.html.csv_1", "a.html.csv_0", "a.html.csv_1"]
    assert [e.label for e in split.examples] == [1, 0, 1, 0]
    assert [e.groups for e in split.examples[1:3]] == [("complex", "small"), ("simple",)]
    first, second = split.examples[:2]
    assert first.table is second.table
    assert (first.question, first.table.title, first.answers, first.candidates) == ("elm be b", "b", None, ())
    assert [[cell.text for cell in row] for row in first.table.rows] == [["birch", "10"], ["elm", "20"]]


def test_a_statement_without_its_table_is_counted(release: Path) -> None:
    split = read_split(release, "train")
    assert (split.questions, split.missing_tables, len(split.examples)) == (6, 2, 4)
    counted = statistics(split)
    assert (counted.statements, counted.entailed, counted.answered) == (4, 2, 0)
    assert counted.groups == {"complex": 2, "simple": 2, "small": 2}


def test_statements_as_they_were_written_go_before_lemmas(release: Path) -> None:
    """Both rounds hold all splits, and some tables come in both."""
    write(release / "collected_data" / "r1_training_all.json", {"b.html.csv": [["Elm is B.", "No."], [1, 0], "B"]})
    second = {"x.html.csv": [["x"], [1], ""], "b.html.csv": [["Yes."], [1], "B"]}
    write(release / "collected_data" / "r2_training_all.json", second)
    write(release / "data" / "test_id.json", ["b.html.csv"])
    split = read_split(release, "test")
    assert [(e.id, e.question, e.label) for e in split.examples] == [
        ("b.html.csv_0", "Elm is B.", 1),
        ("b.html.csv_1", "No.", 0),
        ("b.html.csv_2", "Yes.", 1),
    ]
    names = [str(file.relative_to(release)) for file in split_files(release, "test")]
    assert names[:3] == [
        "collected_data/r1_training_all.json",
        "collected_data/r2_training_all.json",
        "data/test_id.json",
    ]
    assert names[3:] == [
        "data/simple_ids.json",
        "data/complex_ids.json",
        "data/small_test_id.json",
        "data/all_csv/b.html.csv",
    ]


def test_the_splits_that_are_there(release: Path) -> None:
    (release / "tokenized_data" / "val_examples.json").unlink()
    assert LAYOUT.present_splits(release) == ["train", "test"]
    with pytest.raises(UserError, match=r"no .*r1_.* or tokenized_data/val_examples.json .*train, test"):
        read_split(release, "dev")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "tokenized_data/test_examples.json",
            {"a": [["x"], [2], ""]},
            "expected labels 0 (refuted) and 1 (entailed)",
        ),
        ("tokenized_data/test_examples.json", {"a": [["x"], [None], ""]}, "1 (entailed), found None"),
        ("tokenized_data/test_examples.json", {"a": [["x"], [[1]], ""]}, "1 (entailed), found [1]"),
        ("tokenized_data/test_examples.json", {"a": [["x", "y"], [1], ""]}, "key 'a': 2 statements have 1 labels"),
        ("tokenized_data/test_examples.json", {"a": [["x"], [1]]}, "key 'a': expected [statements, labels, caption]"),
        ("tokenized_data/test_examples.json", {"a": [[3], [1], ""]}, "key 'a': expected [statements, labels, caption]"),
        ("tokenized_data/test_examples.json", {"a": 3}, "key 'a': expected a list, found int"),
        ("tokenized_data/test_examples.json", [], "expected a JSON object, found list"),
        ("data/simple_ids.json", {}, "expected a list of table names"),
        ("data/small_test_id.json", "[", "not valid JSON"),
        ("data/all_csv/a.html.csv", "town#people\nelm\n", "line 2: 1 fields, the first line has 2"),
    ],
)
def test_broken_files_are_one_clear_line(release: Path, name: str, content: Any, message: str) -> None:
    write(release / name, content)
    with pytest.raises(UserError) as error:
        read_split(release, "test")
    assert message in str(error.value)
    assert str(release / name) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_of_groups_that_is_not_there(release: Path) -> None:
    (release / "data" / "small_test_id.json").unlink()
    with pytest.raises(UserError, match=r"small_test_id.json: cannot be read \(No such file or directory\)"):
        read_split(release, "test")
