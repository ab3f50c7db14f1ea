"""`mate runs`: what is listed, compared, removed, and what a broken folder does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate_cli.cli.main import main
from mate_cli.commands import runs as command
from mate_cli.config.plain import to_plain
from mate_cli.config.runs import RunsConfig
from mate_cli.reporting.runs import chosen_runs, compared, remove_run
from mate_cli.runs.records import read_run, read_runs
from mate_cli.system.errors import UserError
from mate_cli.system.files import hold
from tests.config.test_config import train_config
from tests.printed import one_line
from tests.reporting.run_folders import hits, write_run

Mate = Callable[..., int]


@pytest.fixture
def mate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mate:
    monkeypatch.chdir(tmp_path)
    return lambda *words: main(["runs", *words])


def test_broken_records_are_named_skipped_and_counted(
    mate: Mate, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "sample" / "a" / "metrics.json").write_text('{"dev": ')
    (runs / "sample" / "b" / "config.yaml").write_text("task: sample\n")
    (runs / "hybridqa" / "c" / "config.yaml").unlink()
    whole, broken = read_runs(runs)
    assert whole == []
    assert [own.path.name for own in broken] == ["c", "a", "b"]
    write_run(runs / "sample" / "whole", to_plain(train_config("backbone=tiny", "schedule=smoke")), {"test": hits(1)})
    assert mate() == 0
    out, err = capsys.readouterr()
    assert "whole" in out
    *skipped, last = err.splitlines()
    assert [any(f"{name}" in line for line in skipped) for name in ("config.yaml is missing", "metrics.json")] == [
        True
    ] * 2
    assert all(line.startswith("skipped: ") for line in skipped)
    assert last == "3 run folders are broken and skipped"


@pytest.mark.parametrize(
    ("width", "head"),
    [
        (40, "name score"),
        (80, "name state score time"),
        (100, "name seed state score time"),
        (200, "name model ablation schedule seed state score time tokens"),
    ],
)
def test_the_list_is_readable_at_each_width(
    width: int, head: str, mate: Mate, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Many runs with long names that differ in every column, under names like the automatic ones."""
    for number in range(40):
        model = config["model"] | {"name": "mate_bucketed" if number % 2 else "mate"}
        ablation = config["ablation"] | {"name": "without_column_heads" if number % 3 else "none"}
        settings = {"seed": number, "schedule": "smoke" if number % 4 else "laptop"}
        path = Path("runs/sample", f"{model['name']}-{ablation['name']}-minilm-s{number}-{number:08d}")
        state = "interrupted" if number % 5 else "done"
        write_run(path, config | settings | {"model": model, "ablation": ablation}, {"test": hits(0.5)}, state)
    monkeypatch.setenv("COLUMNS", str(width))
    assert mate() == 0
    lines = capsys.readouterr().out.splitlines()
    assert {len(line) for line in lines if line[0] in "┏┃┡│└"} == {len(lines[0])}
    assert len(lines[0]) <= width
    assert lines[1].replace("┃", " ").split() == head.split()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert len(rows) == 40
    assert all(len(row) == len(head.split()) and all(row) for row in rows)
    assert len({row[0][-8:] for row in rows}) == 40
    assert all("Hits@1 50.0" in " ".join(row) for row in rows)
    caption = " ".join(lines[lines.index(next(line for line in lines if line.startswith("└"))) + 1 :])
    assert ("left out" in caption) == (width < 200)


def test_the_list_of_the_committed_runs_is_readable(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    folder = Path(__file__).parents[2] / "results" / "runs"
    for width in (80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["runs", f"paths.runs={folder}"]) == 0
        table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
        assert len(table) == len(read_runs(folder)[0])
        assert max(map(len, table)) <= width
        assert all(cell.strip() for line in table for cell in line.strip("│").split("│"))


def test_no_runs_at_all(mate: Mate, capsys: pytest.CaptureFixture[str]) -> None:
    assert mate() == 0
    assert capsys.readouterr() == ("no runs in ./runs; mate train makes one\n", "")
    assert mate("output=json") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("task=sample", ["a", "b"]),
        ("task=sample,seed=1", ["b"]),
        ("state=interrupted", ["c"]),
        ("name=*/b", ["b"]),
        ("model=m*, backbone=tiny", ["c", "a", "b"]),
        ("task.sentences=3,seed=0", ["c", "a"]),
        ("resume=false,data_dir=null", ["c", "a", "b"]),
        ("task=nothing", []),
    ],
)
def test_runs_are_chosen_by_columns_and_by_any_key(runs: Path, where: str, names: list[str]) -> None:
    records, _ = read_runs(runs)
    assert [run.path.name for run in chosen_runs(records, where)] == names


@pytest.mark.parametrize(
    ("where", "words"), [("taks=sample", "did you mean task?"), ("sample", "'sample' is not NAME=VALUE")]
)
def test_a_wrong_condition_is_one_line(
    mate: Mate, runs: Path, where: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mate(f"where={where}") == 2
    assert words in one_line(capsys)


def test_the_time_of_the_chosen_runs_is_added_up(
    mate: Mate, runs: Path, config: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for number, seconds in enumerate((4000.0, 8000.0, 100.0)):
        write_run(runs / "sample" / f"timed{number}", config | {"seed": number + 5}, seconds=seconds)
    assert mate() == 0
    assert "6 of 6 runs in ./runs, 3.4 h of training\n" in capsys.readouterr().out
    assert mate("where=seed=7") == 0
    assert "1 of 6 runs in ./runs, 1.7 min of training\n" in capsys.readouterr().out


def test_the_list_and_its_json(mate: Mate, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mate("where=task=sample") == 0
    out = capsys.readouterr().out
    assert "test Hits@1 75.0" in out
    assert "2 of 3 runs in ./runs" in out
    assert mate("output=json") == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["run"] for record in records] == ["runs/hybridqa/c", "runs/sample/a", "runs/sample/b"]
    assert records[0]["metrics"] == {}


def test_what_differs_between_runs(mate: Mate, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    differences = compared([read_run(runs / "sample" / name) for name in ("a", "b")])
    assert differences["config"] == {"seed": [0, 1]}
    assert differences["facts"]["parents"] == ["", "runs/sample/a"]
    assert differences["scores"]["test.all.hits@1"] == [0.5, 0.75]
    assert differences["scores"]["dev.all.hits@1"] == [0.25, None]
    assert not any("questions" in name for name in differences["scores"])
    assert mate("compare=[runs/sample/a,sample/b,hybridqa/c]", "output=json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["facts"]["task.name"] == ["sample", "sample", "hybridqa"]
    assert mate("compare=[sample/a,sample/b]") == 0
    assert "50.0" in capsys.readouterr().out


def test_removing_asks_first(mate: Mate, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mate("remove=[runs/sample/a]") == 0
    out = capsys.readouterr().out
    assert "runs/sample/b started from it" in out
    assert "nothing is removed; add confirm=true" in out
    assert (runs / "sample" / "a").is_dir()
    assert mate("remove=[sample/a]", "confirm=true") == 0
    assert not (runs / "sample" / "a").exists()
    assert (runs / "sample" / "b").is_dir()


def test_a_run_in_use_is_not_removed_nor_one_beside_it(
    mate: Mate, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with hold(runs / "sample" / "b"):
        assert mate("remove=[sample/a,sample/b]", "confirm=true") == 75
    assert "sample/b is in use by another process" in capsys.readouterr().err
    assert (runs / "sample" / "a").is_dir()


def test_nothing_outside_the_folder_of_runs_is_removed(
    runs: Path, tmp_path: Path, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by links, by dots, as a whole, or beside a run that may go."""
    monkeypatch.chdir(tmp_path)
    outside = write_run(tmp_path / "elsewhere" / "run", config).path
    os.symlink(outside, runs / "sample" / "link")
    os.symlink(runs / "sample" / "a", runs / "sample" / "alias")
    write_run(tmp_path / "runs2" / "sample" / "x", config)
    kept = sorted(tmp_path.rglob("*"))
    for name in (
        str(outside),
        "runs/sample/../../elsewhere/run",
        "runs/sample/link",
        "runs/sample/alias",
        "runs2/sample/x",
        "runs",
        "runs/sample",
        "nowhere",
    ):
        with pytest.raises(UserError) as caught:
            command.run(RunsConfig(remove=["runs/sample/b", name], confirm=True))
        assert name.split("/")[-1] in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == kept


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["compare=[a,b]", "remove=[c]"], "compare and remove given: list some, compare some, or remove some"),
        (["compare=[a]"], "compare=[a]: nothing to compare it with"),
        (["confirm=true"], "confirm belongs to remove"),
        (["remove=[a]", "output=json"], "output=json belongs to listing and comparing"),
    ],
)
def test_what_does_not_go_together(mate: Mate, words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert mate(*words) == 2
    lines = capsys.readouterr().err.splitlines()
    assert f"error: {line}" in lines
    assert all("there is no such folder" in other for other in lines if other != f"error: {line}")


def test_a_run_that_another_removed_is_one_line(runs: Path) -> None:
    remove_run(runs / "sample" / "a")
    with pytest.raises(UserError, match=r"cannot remove .*sample/a: No such file or directory"):
        remove_run(runs / "sample" / "a")
