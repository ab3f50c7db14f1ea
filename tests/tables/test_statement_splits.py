"""Statements from a folder of tables: what is in which split, always the same, and what is wrong with a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.encoding.source import DataSource
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS
from mate_cli.tables.statements import splits
from mate_cli.tables.statements.splits import held_out_pages
from tests.tables.tables_with_texts import write_csv, write_wikipedia

KINDS = ("synthetic", "synthetic_opposite", "counterfactual", "cs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_wikipedia(tmp_path_factory.mktemp("wikipedia"))


def statements(name, folder):
    return {split: FORMATS[name].read_split(folder, split).examples for split in ("train", "dev")}


@pytest.mark.parametrize("name", KINDS)
def test_both_splits_have_true_and_false_statements_on_tables_of_their_own(name, folder):
    found = statements(name, folder)
    assert [*map(len, found.values())] == [len({own.id for own in examples}) for examples in found.values()]
    titles = {split: {own.table.title for own in examples} for split, examples in found.items()}
    assert all(titles.values())
    assert titles["train"].isdisjoint(titles["dev"])
    others = {own.table.title for other in KINDS for own in FORMATS[other].read_split(folder, "dev").examples}
    assert titles["train"].isdisjoint(others)  # what one kind learns from, no other is validated with
    for examples in found.values():
        assert Counter(own.label for own in examples)[1] == len(examples) / 2
        assert all(own.question and not own.passages for own in examples)
        assert not any(cell.links for own in examples for row in own.table.rows for cell in row)
    assert FORMATS[name].LAYOUT.present_splits(folder) == ["train", "dev"]


def test_counterfactual_statements_come_from_introduction_and_passages(folder):
    texts = {own.question for own in statements("counterfactual", folder)["train"] if own.label == 1}
    assert any(text.startswith("In this season the Lions from ") for text in texts)
    assert any(text.startswith("It is known to all that the Foxes are of ") for text in texts)


def test_the_mix_has_as_many_of_each(folder):
    for examples in statements("cs", folder).values():
        groups = Counter(own.groups for own in examples)
        assert groups[("synthetic",)] == groups[("counterfactual",)] == len(examples) / 2
        tables = {own.table.id: own.table for own in examples}
        assert all(own.table is tables[own.table.id] for own in examples)  # encoded once


def test_opposite_tables_come_with_the_same_statements(folder):
    found = {own.id: own for own in statements("synthetic_opposite", folder)["train"]}
    opposites = [name for name in found if name.endswith("_opposite")]
    assert opposites
    for name in opposites:
        own, before = found[name], found[name.removesuffix("_opposite")]
        assert (own.question, own.label) == (before.question, 1 - before.label)
        assert own.table.id != before.table.id


@pytest.mark.parametrize("name", KINDS)
def test_statements_are_the_same_whenever_they_are_made(name, folder):
    before = statements(name, folder)
    splits._generate.cache_clear()
    assert statements(name, folder) == before


def test_another_process_makes_the_same(folder):
    program = (
        "import sys, pathlib; from mate_cli.tables.formats import FORMATS; "
        "print([(e.id, e.question) for e in FORMATS['cs'].read_split(pathlib.Path(sys.argv[1]), 'train').examples])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    out = subprocess.run([sys.executable, "-c", program, folder], env=environment, capture_output=True, text=True)
    assert out.stdout.strip() == str([(own.id, own.question) for own in statements("cs", folder)["train"]]), out.stderr


def test_kinds_and_splits_of_one_folder_are_told_apart(folder):
    hashes = {DataSource(name, folder, split).fingerprint() for name in KINDS for split in ("train", "dev")}
    assert len(hashes) == 8


def test_a_changed_table_changes_the_statements(tmp_path):
    folder = write_csv(tmp_path / "tables")
    before = statements("synthetic", folder)
    for file in folder.glob("*.csv"):
        file.write_text(file.read_text().replace("Leeds", "Oxford"))
    assert statements("synthetic", folder) != before


def test_broken_tables_are_counted(tmp_path):
    folder = write_csv(tmp_path)
    (folder / "broken.csv").write_text("a,b\n1,2,3\n")
    train, dev = (FORMATS["synthetic"].read_split(folder, split) for split in ("train", "dev"))
    assert (train.missing_tables, dev.missing_tables) == (1, 0)
    assert train.questions == len(train.examples) + 1


@given(st.lists(st.integers(1, 3), min_size=2, max_size=150))
def test_at_least_64_tables_are_held_out_or_half_of_few(counts):
    tables = {f"page {number}": count for number, count in enumerate(counts)}
    chosen = held_out_pages(tables)
    held, total = sum(tables[page] for page in chosen), sum(tables.values())
    assert min(64, total // 2) <= held < min(64, total // 2) + 3
    assert held_out_pages(dict(reversed(tables.items()))) == chosen


def test_one_table_in_a_hundred_is_held_out_of_many():
    tables = {f"page {number}": 1 for number in range(20_000)}
    assert len(held_out_pages(tables)) == 200


@pytest.mark.parametrize(
    ("name", "texts", "problem"),
    [
        ("synthetic", {}, "no tables"),
        ("synthetic", {"a.csv": "x,y\n1,2\n"}, "no synthetic statements for train in its 0 tables"),
        ("synthetic", {"a.csv": "x,y\n1,2\n3,4\n"}, "no synthetic statements for dev in its 1 tables"),
        ("synthetic", {"a.csv": "x,y\n1,2,3\n"}, "line 2 has 3 fields"),
        ("cs", {"a.csv": "x,y\n1,2\n3,4\n", "b.csv": "x,y\n5,6\n7,8\n"}, "task=synthetic needs no texts"),
    ],
)
def test_a_folder_that_gives_no_statements_is_one_line(tmp_path, name, texts, problem):
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    with pytest.raises(UserError, match=problem) as error:
        statements(name, tmp_path)
    assert "\n" not in str(error.value)
    assert f"data_dir={tmp_path}" in str(error.value)


def test_there_is_no_test_split(folder):
    with pytest.raises(UserError, match=r"split=test: .* train and dev"):
        FORMATS["cs"].read_split(folder, "test")
