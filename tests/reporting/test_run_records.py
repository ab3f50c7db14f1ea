"""Records of runs, read from their folders: of any version, state and checkout."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mate_cli.config.plain import to_plain
from mate_cli.runs.folder import RunFolder, read_record
from mate_cli.runs.identity import config_hash
from mate_cli.runs.provenance import _git_state
from mate_cli.runs.records import read_run, value_at
from mate_cli.system.errors import UserError
from mate_cli.system.files import write_json
from tests.config.test_config import train_config
from tests.reporting.run_folders import write_run


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


def test_a_file_that_cannot_be_parsed_names_itself(runs: Path) -> None:
    (runs / "sample" / "a" / "status.json").write_text("[]")
    with pytest.raises(UserError, match=r"status\.json is not a record: it has list"):
        read_run(runs / "sample" / "a")


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
