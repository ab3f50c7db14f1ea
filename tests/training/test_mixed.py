"""Examples made from tables that are mixed into a training: their share, their part in the run's identity, mistakes."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter

import numpy as np
import pytest
import yaml
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.config.task import MixedConfig, TaskConfig
from mate_cli.tables.queries.sources import are_copies
from mate_cli.training import rows
from mate_cli.training.rows import mixed_rows
from tests.tables.releases import write_tabfact, write_wtq
from tests.tables.tables_with_texts import write_csv
from tests.tables.test_queries import write_tables
from tests.training.conftest import TINY

QUERIES = ("task.mixed.format=queries", "task.queries.questions=40", "task.queries.dev=30")


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path / "tables", 8)


@settings(deadline=None, max_examples=20)
@given(own=st.integers(1, 40), others=st.integers(1, 40), share=st.floats(0.05, 0.9), seed=st.integers(0, 9))
def test_train_keeps_its_rows_and_gets_a_share_of_different_others(own, others, share, seed):
    mine, theirs = (
        Dataset.from_dict({"id": [f"{of}{n}" for n in range(count)]})
        for of, count in zip("ab", (own, others), strict=True)
    )
    mixed = mixed_rows(mine, theirs, share, seed)["id"][:]
    count = Counter(name[0] for name in mixed)
    assert mixed[:own] == mine["id"][:]
    assert len(set(mixed)) == len(mixed)
    assert count["b"] == others or abs(count["b"] - share * len(mixed)) <= 0.5
    assert mixed == mixed_rows(mine, theirs, share, seed)["id"][:]


def trained(mate, tmp_path, name, *words):
    task = words[0].partition("=")[2]
    assert mate("train", *words, *TINY, f"name={name}") == 0
    return tmp_path / "runs" / task / name


def test_made_questions_join_real_ones_and_dev_stays(mate, tmp_path, tables, capsys):
    data = f"data_dir={write_wtq(tmp_path / 'wtq')}"
    alone = trained(mate, tmp_path, "alone", "task=wtq", data)
    capsys.readouterr()
    words = ("task=wtq", data, *QUERIES, f"task.mixed.data_dir={tables}", "task.mixed.share=0.5")
    mixed = trained(mate, tmp_path, "mixed", *words)
    own, others = re.findall(r"train: (\d+) examples, and (\d+) of queries", capsys.readouterr().out)[0]
    assert own == others  # a share of one half
    scores = [json.loads((run / "metrics.json").read_text())["dev"]["questions"] for run in (alone, mixed)]
    assert scores[0] == scores[1]


def write_wtq_about(tables, folder):
    """WikiTableQuestions with two look-ups of each table of a folder."""
    write_wtq(folder)
    questions = []
    for number, file in enumerate(sorted(tables.glob("*.csv"))):
        with file.open(newline="") as lines:
            header, first, *_ = table = list(csv.reader(lines))
        copy = "".join(",".join(f'"{text}"' for text in row) + "\n" for row in table)
        (folder / "csv" / "1-csv" / f"7{number}.csv").write_text(copy)
        answers = [(name, text) for name, text in zip(header, first, strict=True) if text and "|" not in text][:2]
        for name, text in answers:
            questions.append(f"nt-{len(questions) + 10}\twhat {name}?\tcsv/1-csv/7{number}.csv\t{text}")
    train = folder / "data" / "random-split-1-train.tsv"
    train.write_text(train.read_text() + "\n".join(questions) + "\n")
    return folder


def test_no_made_question_is_about_a_held_out_table(mate, tmp_path, tables, monkeypatch):
    opened, open_split = [], rows.open_split
    monkeypatch.setattr(rows, "open_split", lambda source, *rest: (opened.append(source), open_split(source, *rest))[1])
    words = ("task=wtq", f"data_dir={write_wtq_about(tables, tmp_path / 'wtq')}", *QUERIES)
    held_out = "task.schedules.smoke.held_out=0.4"
    trained(mate, tmp_path, "run", *words, f"task.mixed.data_dir={tables}", held_out)
    chosen_by, mixed, all_made = (
        [example.table for example in source.read().examples] for source in (*opened[1:], opened[2].base)
    )
    assert not are_copies(mixed, chosen_by).any()
    assert 0 < len(mixed) == np.count_nonzero(~are_copies(all_made, chosen_by)) < len(all_made)


def test_the_content_of_mixed_data_tells_runs_apart_and_its_place_does_not(mate, tmp_path, tables):
    data = f"data_dir={write_wtq(tmp_path / 'wtq')}"
    elsewhere, fewer = tmp_path / "elsewhere", write_tables(tmp_path / "fewer", 6)
    elsewhere.symlink_to(tables)
    hashes = []
    for number, folder in enumerate((tables, elsewhere, fewer)):
        run = trained(mate, tmp_path, f"run{number}", "task=wtq", data, *QUERIES, f"task.mixed.data_dir={folder}")
        hashes.append(json.loads((run / "environment.json").read_text())["data"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_made_statements_join_those_of_tabfact(mate, tmp_path, capsys):
    words = ("task=tabfact", f"data_dir={write_tabfact(tmp_path / 'tabfact')}", "task.mixed.format=synthetic")
    trained(mate, tmp_path, "run", *words, f"task.mixed.data_dir={write_csv(tmp_path / 'towns')}")
    assert "of synthetic" in " ".join(capsys.readouterr().out.split())


def test_an_export_forgets_where_the_mixed_tables_lie(mate, tmp_path, tables):
    words = ("task=wtq", f"data_dir={write_wtq(tmp_path / 'wtq')}", *QUERIES, f"task.mixed.data_dir={tables}")
    run = trained(mate, tmp_path, "run", *words)
    assert mate("export", f"run={run}", f"to={tmp_path / 'export'}") == 0
    assert yaml.safe_load((tmp_path / "export" / "config.yaml").read_text())["task"]["mixed"]["data_dir"] is None
    card = (tmp_path / "export" / "README.md").read_text()
    assert "task.mixed.data_dir=DATA" in card
    assert str(tmp_path) not in card


def test_a_format_of_another_kind_and_a_folder_without_a_format_are_mistakes():
    task = TaskConfig(name="wtq", kind="table_qa", format="wtq", mixed=MixedConfig(format="cs"))
    assert task.problems() == ["mixed.format=cs is of another kind; kind=table_qa takes queries"]
    selector = TaskConfig(name="hybridqa", format="hybridqa", mixed=MixedConfig(format="queries"))
    assert selector.problems() == ["mixed.format=queries is of another kind; kind=cell_selection takes none"]
    assert "name them with mixed.format" in MixedConfig(data_dir="tables").problems()[0]


def test_without_a_folder_one_line_says_what_it_needs(mate, tmp_path, capsys):
    words = ("task=wtq", f"data_dir={write_wtq(tmp_path / 'wtq')}", "task.mixed.format=queries")
    assert mate("train", *words, *TINY) == 2
    error = capsys.readouterr().err.strip()
    assert "task.mixed.format=queries needs task.mixed.data_dir=DIR, a folder with the folders of SQA" in error
    assert "\n" not in error
