"""Generated statements through the command line: prepared, learnt from, scored."""

import json
import shutil

import pytest

from mate_cli.encoding import writer
from tests.tables.tables_with_texts import write_csv, write_wikipedia
from tests.training.conftest import TINY


def test_a_training_on_both_kinds_is_scored_on_each(mate, tmp_path):
    folder = write_wikipedia(tmp_path / "wikipedia")
    assert mate("train", "task=cs", *TINY, f"data_dir={folder}", "name=run") == 0
    dev = json.loads((tmp_path / "runs" / "cs" / "run" / "metrics.json").read_text())["dev"]
    assert set(dev["model"]) == {"all", "synthetic", "counterfactual"}
    assert dev["model"]["all"]["number"] == 2 * dev["model"]["synthetic"]["number"] == dev["questions"]
    assert dev["baselines"] == {
        name: dict.fromkeys(("all", "synthetic", "counterfactual"), 0.5)
        for name in ("entailed, always", "refuted, always")
    }
    assert dev["lead"]["all"]["low"] <= dev["lead"]["all"]["mean"] <= dev["lead"]["all"]["high"]


def test_a_run_is_scored_on_made_statements_of_another_format(mate, tmp_path, capsys):
    folder = write_wikipedia(tmp_path / "wikipedia")
    assert mate("train", "task=counterfactual", *TINY, f"data_dir={folder}", "name=run") == 0
    run = tmp_path / "runs" / "counterfactual" / "run"
    own = json.loads((run / "metrics.json").read_text())["dev"]
    assert mate("evaluate", f"run={run}", "format=synthetic", "hardware=cpu") == 0
    scores = json.loads((run / "metrics.json").read_text())
    assert scores.pop("dev") == own
    ((name, made),) = scores.items()
    assert name.startswith("dev-data-")
    assert name.endswith("-synthetic")
    assert {*made["model"]} == {"all", "synthetic"}
    assert (run / f"predictions-{name}.jsonl").is_file()
    capsys.readouterr()
    assert mate("evaluate", f"run={run}", "format=queries", "hardware=cpu") == 2
    assert "task=counterfactual takes cs, counterfactual, synthetic" in capsys.readouterr().err


def test_tables_of_ones_own_are_prepared_and_a_killed_preparation_leaves_nothing(mate, tmp_path, monkeypatch, capsys):
    folder = write_csv(tmp_path / "towns")
    words = ("prepare", "task=synthetic", "backbone=tiny", f"data_dir={folder}", "schedule=smoke", "workers=1")
    encode, cache = writer.encode, tmp_path / "cache"
    monkeypatch.setenv("MATE_CACHE", str(cache))
    calls = []

    def killed_in_the_second(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return encode(*arguments)

    monkeypatch.setattr(writer, "encode", killed_in_the_second)
    assert mate(*words) == 130
    monkeypatch.setattr(writer, "encode", encode)
    assert mate(*words) == 0
    resumed = files(cache)
    shutil.rmtree(cache)
    capsys.readouterr()
    assert mate(*words) == 0
    assert files(cache) == resumed
    assert len(resumed) == 2
    assert "statements" in capsys.readouterr().out


def files(cache):
    return {file.parent.name: file.read_bytes() for file in cache.glob("encoded/*/rows.arrow")}


@pytest.mark.parametrize(
    ("task", "problem"),
    [("cs", "task=synthetic needs no texts"), ("synthetic", "needs data_dir=DIR, a folder with tables")],
)
def test_what_is_missing_is_one_line(mate, tmp_path, capsys, task, problem):
    where = (f"data_dir={write_csv(tmp_path / 'towns')}",) if task == "cs" else ()
    assert mate("train", f"task={task}", *TINY, *where) == 2
    error = capsys.readouterr().err.strip()
    assert problem in error
    assert "\n" not in error
