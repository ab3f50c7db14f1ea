"""`mate prepare`: the tokens that training will ask for, and what is said of the data of each task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mate_cli.tables.releases import RELEASES, Release
from tests.tables.file_server import Server
from tests.tables.releases import write_sqa, write_tabfact, write_wtq, zipped_sqa
from tests.training.conftest import TINY, fast


@pytest.mark.parametrize("model", fast("sat", of=["mate", "sat"]))
def test_training_finds_what_was_prepared(model, mate, tmp_path, monkeypatch):
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "own"))  # not the one that all tests share
    assert mate("prepare", "backbone=tiny", "schedule=smoke", f"model={model}") == 0
    prepared = names(tmp_path / "own")
    assert len(prepared) == 3
    assert mate("train", *TINY, f"model={model}") == 0
    assert names(tmp_path / "own") == prepared


def test_a_model_for_bench_only_is_refused(mate, capsys):
    assert mate("prepare", "model=etc") == 2
    assert "model=etc is for mate bench only" in capsys.readouterr().err


_RELEASES = {"sqa": write_sqa, "wtq": write_wtq, "tabfact": write_tabfact}
_TABLES = (
    ("sqa", "questions", (5, 5, 5)),
    ("sqa", "conversations", (2, 2, 2)),
    ("sqa", "without a table", (1, 1, 1)),
    ("sqa", "with answer cells", (4, 4, 4)),
    ("wtq", "questions", (8, 8, 8)),
    ("wtq", "with answer cells", (4, 5, 5)),
    ("wtq", "with a number to answer", (1, 2, 2)),
    ("wtq", "without supervision", (2, 1, 1)),
    ("wtq", "an answer is in several cells", (1, 0, 0)),
    ("wtq", "its answer is neither in the table nor a number", (1, 1, 1)),
    ("tabfact", "statements", (6, 4, 4)),
    ("tabfact", "simple", (2, 2, 2)),
    ("tabfact", "entailed", (2, 2, 2)),
)
_ELSEWHERE = {
    "sqa": ("statements", "linked passages", "answer in input", "without supervision"),
    "wtq": ("statements", "linked passages", "answer in input", "conversations"),
    "tabfact": ("questions", "linked passages", "answer in input", "with answer cells", "without supervision"),
}


@pytest.mark.parametrize("task", _RELEASES)
def test_what_is_said_of_a_release(task, mate, tmp_path, capsys):
    folder = _RELEASES[task](tmp_path / "data")
    command = ("prepare", f"task={task}", "backbone=tiny", "schedule=smoke", "workers=1")
    assert mate(*command, f"data_dir={folder}") == 0
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    shown = {own[0]: tuple(own[1:]) for own in cells if own}
    for _, title, counts in (own for own in _TABLES if own[0] == task):
        assert shown[title] == tuple(map(str, counts)), title
    assert shown["encoded"] == ("4", "4", "4") if task != "wtq" else ("7", "7", "7")
    assert not shown.keys() & set(_ELSEWHERE[task])
    assert mate(*command, f"data_dir={tmp_path}") == 2
    assert f"did you mean data_dir={folder}?" in capsys.readouterr().err


def test_what_is_not_there_is_fetched_once(mate, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "own"))
    archive, source = zipped_sqa(tmp_path / "made")
    monkeypatch.setitem(RELEASES, "sqa", Release("1.0", "CC BY-SA 4.0", (source,)))
    command = ("prepare", "task=sqa", "backbone=tiny", "schedule=smoke", "workers=1")
    assert mate(*command, "mirror=elsewhere") == 2
    assert "mirror=elsewhere is no address; begin it with https:// or http://" in capsys.readouterr().err
    assert mate("train", "task=sqa", *TINY) == 2
    assert "needs data_dir=DIR, a folder with the *.tsv files" in (error := capsys.readouterr().err)
    assert "mate prepare task=sqa fetches it" in error
    server = Server(archive)
    try:
        assert mate(*command, f"mirror={server.url}") == 0
    finally:
        server.close()
    assert "SHA-256 as published; licence: CC BY-SA 4.0" in capsys.readouterr().out
    assert mate(*command) == 0  # the server is gone
    assert not list((tmp_path / "own" / "data").glob("*.partial"))


def test_counts_alone_are_written_and_nothing_is_encoded(mate, tmp_path, monkeypatch):
    """Two tables of three are there, and count once however many splits they are in."""
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "own"))
    folder = write_tabfact(tmp_path / "data")
    assert mate("prepare", "task=tabfact", f"data_dir={folder}", "encode=false", "to=counts") == 0
    record = json.loads((tmp_path / "counts" / "statistics.json").read_text())
    assert [record[split]["questions"] for split in ("train", "dev", "test")] == [6, 4, 4]
    assert record["total"] == {"questions": 14, "tables": 2}
    assert not (tmp_path / "own").exists()
    assert mate("prepare", "task=sample", "encode=false", "to=counts") == 0
    record = json.loads((tmp_path / "counts" / "statistics.json").read_text())
    total = record.pop("total")
    assert total["questions"] == sum(total["subsets"].values()) == sum(own["questions"] for own in record.values())
    assert not (tmp_path / "own" / "encoded").exists()


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "encoded").iterdir()}


def test_pruned_columns_are_counted_and_belong_to_the_training(mate, tmp_path, monkeypatch, capsys):
    """`prune=hem` where tables of two columns have room for one; a reader has no columns to leave out."""
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "own"))
    data = write_sqa(tmp_path / "sqa")
    words = ("task=sqa", f"data_dir={data}", "task.schedules.smoke.prune=hem", "task.schedules.smoke.max_tokens=17")
    assert mate("prepare", *words, "backbone=tiny", "schedule=smoke") == 0
    lines = capsys.readouterr().out.splitlines()
    (pruned,) = [line.split() for line in lines if "lost columns" in line]
    assert int(pruned[-2]) > 0
    prepared = names(tmp_path / "own")
    assert mate("train", *TINY, *words, "name=pruned") == 0
    assert mate("evaluate", "run=runs/sqa/pruned", "hardware=cpu") == 0
    assert names(tmp_path / "own") == prepared
    assert mate("prepare", "task=sample_reader", "task.schedules.smoke.prune=hem") == 2
    assert "prune: a reader reads single cells" in capsys.readouterr().err
