"""Records of runs, and `mate runs`: what is listed, compared, removed, and what a broken folder does."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate_cli.cli.main import main
from mate_cli.commands import runs as command
from mate_cli.config.plain import to_plain
from mate_cli.config.runs import RunsConfig
from mate_cli.reporting.runs import chosen_runs, compared, remove_run
from mate_cli.runs.folder import RunFolder, read_record
from mate_cli.runs.identity import config_hash
from mate_cli.runs.provenance import _git_state
from mate_cli.runs.records import read_run, read_runs, value_at
from mate_cli.system.errors import UserError
from mate_cli.system.files import write_json
from tests.config.test_config import train_config
from tests.reporting.run_folders import hits, write_run

Mate = Callable[..., int]


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return to_plain(train_config("backbone=tiny", "schedule=smoke"))


@pytest.fixture
def mate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mate:
    monkeypatch.chdir(tmp_path)
    return lambda *words: main(["runs", *words])


@pytest.fixture
def runs(tmp_path: Path, config: dict[str, Any]) -> Path:
    """Two finished runs, one that was interrupted, and a folder of wandb's, which is none."""
    folder = tmp_path / "runs"
    write_run(folder / "sample" / "a", config, {"dev": hits(0.25), "test": hits(0.5)})
    write_run(folder / "sample" / "b", {**config, "seed": 1}, {"test": hits(0.75)}, origin={"run": "runs/sample/a"})
    other = {**config, "task": {**config["task"], "name": "hybridqa", "report_split": "dev"}}
    write_run(folder / "hybridqa" / "c", other, state="interrupted")
    inner = folder / "sample" / "a" / "wandb" / "config.yaml"
    inner.parent.mkdir()
    inner.write_text("wandb: true")
    return folder


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


def test_a_record_tells_all_that_the_folder_knows(runs: Path, config: dict[str, Any]) -> None:
    record = read_run(runs / "sample" / "b").plain()
    assert json.loads(json.dumps(record)) == record
    typed = train_config("backbone=tiny", "schedule=smoke", "seed=1")
    assert record["config_hash"] == config_hash(to_plain(typed))
    assert record["tokens"] == 2 * config["task"]["schedules"]["smoke"]["batch"] * 50
    assert record["flops"] == 1000 * record["tokens"]
    assert record["parents"] == ["runs/sample/a"]
    assert (record["task"], record["seed"], record["state"], record["steps"]) == ("sample", 1, "done", 2)
    assert record["seconds"] >= 0
    assert record["environment"]["packages"]["torch"]
    assert value_at(record, "metrics.test.model.all.hits@1") == 0.75
    assert value_at(record, "metrics.test.model") is None


def test_a_run_of_an_earlier_version_is_read(runs: Path) -> None:
    """Without what older folders lack: facts of the status, the process, the ablation."""
    folder = RunFolder(runs / "sample" / "a")
    environment = read_record(folder.environment_file)
    write_json(folder.environment_file, {k: v for k, v in environment.items() if k not in ("process", "earlier_code")})
    write_json(folder.path / "status.json", {"state": "running", "seconds": 3.5})
    folder.config_file.write_text(folder.config_file.read_text().replace("ablation:", "unknown_today:"))
    record = read_run(folder.path)
    assert (record.state, record.tokens, record.flops, record.columns["ablation"]) == ("running", None, None, "none")
    folder.environment_file.unlink()
    assert (read_run(folder.path).codes, read_run(folder.path).parents) == ((), ())


def test_a_process_that_is_gone_was_killed(runs: Path) -> None:
    folder = RunFolder(runs / "sample" / "a")
    folder.set_status("running")
    assert read_run(folder.path).state == "running"  # this very process
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    environment = read_record(folder.environment_file)
    write_json(folder.environment_file, environment | {"process": {"pid": ended.pid, "host": platform.node()}})
    assert read_run(folder.path).state == "killed"
    write_json(folder.environment_file, environment | {"process": {"pid": ended.pid, "host": "another"}})
    assert read_run(folder.path).state == "running"


def test_wall_time_and_code_of_all_sittings_count(tmp_path: Path, config: dict[str, Any]) -> None:
    write_run(tmp_path / "run", config, state="interrupted", seconds=100.0)
    again = RunFolder(tmp_path / "run")
    first = read_record(again.environment_file) | {"git": {"commit": "0123456789abcdef", "dirty": True}}
    write_json(again.environment_file, first)
    again.record_start(config, ["mate", "train"], {"backbone": "tiny"}, None)
    again.set_status("done")
    record = read_run(again.path)
    assert 100 <= record.status["seconds"] < 110
    assert record.codes[0] == "0123456789+"
    assert len(record.codes) == 2


def test_broken_records_are_named_skipped_and_counted(
    mate: Mate, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "sample" / "a" / "metrics.json").write_text('{"dev": ')
    (runs / "sample" / "b" / "config.yaml").write_text("task: sample\n")
    (runs / "hybridqa" / "c" / "config.yaml").unlink()
    found, broken = read_runs(runs)
    assert found == []
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
    found, _ = read_runs(runs)
    assert [run.path.name for run in chosen_runs(found, where)] == names


@pytest.mark.parametrize(
    ("where", "words"), [("taks=sample", "did you mean task?"), ("sample", "'sample' is not NAME=VALUE")]
)
def test_a_wrong_condition_is_one_line(
    mate: Mate, runs: Path, where: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mate(f"where={where}") == 2
    assert words in one_line(capsys)


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
    found = compared([read_run(runs / "sample" / name) for name in ("a", "b")])
    assert found["config"] == {"seed": [0, 1]}
    assert found["facts"]["parents"] == ["", "runs/sample/a"]
    assert found["scores"]["test.all.hits@1"] == [0.5, 0.75]
    assert found["scores"]["dev.all.hits@1"] == [0.25, None]
    assert not any("questions" in name for name in found["scores"])
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


def test_a_file_that_cannot_be_parsed_names_itself(runs: Path) -> None:
    (runs / "sample" / "a" / "status.json").write_text("[]")
    with pytest.raises(UserError, match=r"status\.json is not a record: it has list"):
        read_run(runs / "sample" / "a")


def test_a_run_that_another_removed_is_one_line(runs: Path) -> None:
    remove_run(runs / "sample" / "a")
    with pytest.raises(UserError, match=r"cannot remove .*sample/a: No such file or directory"):
        remove_run(runs / "sample" / "a")


def test_results_in_a_checkout_are_no_other_code(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *own, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    def changed(name: str) -> None:
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "file").write_text(str(time.time_ns()))
        git("add", "-A")

    git("init")
    assert _git_state(tmp_path) is None
    changed("mate_cli")
    git("commit", "-m", "code")
    first = {"commit": git("rev-parse", "HEAD").strip(), "dirty": False}
    assert _git_state(tmp_path) == first
    changed("results")
    assert _git_state(tmp_path) == first
    git("commit", "-m", "results")
    assert _git_state(tmp_path) == first
    changed("conf")
    assert _git_state(tmp_path) == {**first, "dirty": True}
    git("commit", "-m", "settings")
    assert _git_state(tmp_path) == {"commit": git("rev-parse", "HEAD").strip(), "dirty": False}
    assert _git_state(tmp_path / "mate_cli") is None
