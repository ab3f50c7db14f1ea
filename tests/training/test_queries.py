"""Questions made from tables through the command line: prepared, learnt from, scored by kind, and gone on from."""

from __future__ import annotations

import json

import pytest

from tests.tables.releases import write_sqa, write_wtq
from tests.tables.test_queries import write_tables
from tests.training.conftest import TINY

SIZES = ("task.queries.questions=40", "task.queries.dev=30")


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path / "tables", 8)


def test_a_training_is_scored_by_kind_and_its_heads_go_on_where_they_fit(mate, tmp_path, tables, capsys):
    assert mate("train", "task=queries", *TINY, *SIZES, f"data_dir={tables}", "name=first") == 0
    dev = json.loads((tmp_path / "runs" / "queries" / "first" / "metrics.json").read_text())["dev"]
    assert dev["questions"] == sum(kind["questions"] for kind in dev["by_kind"].values()) == 30
    right = sum(kind["questions"] * kind["accuracy"] for kind in dev["by_kind"].values())
    assert right == pytest.approx(30 * dev["model"]["accuracy"]["mean"])
    start = ("backbone=run", "backbone.path=runs/queries/first", *TINY[1:])
    capsys.readouterr()
    for task, write, report in (("wtq", write_wtq, "0 new"), ("sqa", write_sqa, "0 new, 2 unused")):
        assert mate("train", f"task={task}", *start, f"data_dir={write(tmp_path / task)}", "name=next") == 0
        assert report in " ".join(capsys.readouterr().out.split())
        records = json.loads((tmp_path / "runs" / task / "next" / "environment.json").read_text())
        assert records["origin"]["task"] == "queries"


def test_what_was_prepared_is_read_again_with_any_number_of_workers(mate, tmp_path, tables, monkeypatch, capsys):
    encoded = []
    for workers, source in (("1", tables), ("4", tmp_path / "made")):
        monkeypatch.setenv("MATE_CACHE", str(tmp_path / f"cache {workers}"))
        words = ("prepare", "task=queries", "backbone=tiny", "schedule=smoke", *SIZES, f"to={tmp_path / 'made'}")
        assert mate(*words, f"data_dir={source}", f"workers={workers}") == 0
        rows = sorted((tmp_path / f"cache {workers}").glob("encoded/*/rows.arrow"))
        encoded.append({file.parent.name: file.read_bytes() for file in rows})
    assert encoded[0] == encoded[1]
    assert len(encoded[0]) == 2
    made = {"statistics.json", "train.jsonl", "dev.jsonl", "tables.jsonl", "sources.json"}
    assert {file.name for file in (tmp_path / "made").iterdir()} == made
    printed = capsys.readouterr().out
    assert all(name in printed for name in made)
    assert "tables: 4 to train on, 4 held out" in printed
    assert "copies of their dev and test tables are not known: hybridqa, sqa, tabfact, wtq" in printed


def test_questions_without_counts_of_their_tables_are_learnt_from_too(mate, tmp_path, tables, capsys):
    made, copy = tmp_path / "made", tmp_path / "copy"
    prepare = ("prepare", "task=queries", "backbone=tiny", "schedule=smoke", *SIZES, "encode=false")
    assert mate(*prepare, f"data_dir={tables}", f"to={made}") == 0
    (made / "sources.json").unlink()
    assert mate("train", "task=queries", *TINY, f"data_dir={made}") == 0
    assert f"{made}/sources.json is not there, so which tables were left out" in capsys.readouterr().out
    assert mate(*prepare, f"data_dir={made}", f"to={copy}") == 0
    assert {file.name for file in copy.iterdir()} == {"statistics.json", "train.jsonl", "dev.jsonl", "tables.jsonl"}
    (made / "sources.json").write_text("[]")
    capsys.readouterr()
    assert mate(*prepare, f"data_dir={made}", f"to={copy}") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {made}/sources.json: not the counts of mate (TypeError: ")
    assert error.endswith("); remove it, or make it again with mate prepare\n")


def test_without_a_folder_one_line_says_what_it_needs(mate, capsys):
    assert mate("train", "task=queries", *TINY) == 2
    error = capsys.readouterr().err.strip()
    assert "task=queries needs data_dir=DIR, a folder with the folders of SQA, WikiTableQuestions" in error
    assert "\n" not in error
