"""Through the command line: a run goes on where its data has moved, and not with other data."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import TaskConfig
from mate_cli.runs.records import read_run
from mate_cli.tables.data_folder import data_folder
from tests.training.conftest import TINY


def test_a_run_goes_on_with_moved_data_and_under_its_old_name(
    mate: Any, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = data_folder(TaskConfig(name="sample", format="sample"), None, PathsConfig(cache=str(cache)))
    data = Path(shutil.copytree(sample, tmp_path / "data"))
    words = ("train", "task=hybridqa", *TINY)
    assert mate(*words, f"data_dir={data}") == 0
    (run,) = (tmp_path / "runs" / "hybridqa").iterdir()
    environment = json.loads((run / "environment.json").read_text())
    assert environment["data"] == read_run(run).identity.data is not None

    moved = data.rename(tmp_path / "moved")
    others = ("hardware.workers=1", "task.schedules.laptop.lr=1", "model.linformer.k=8", f"paths.cache={cache}")
    assert mate(*words, f"data_dir={moved}", *others, "resume=true") == 0
    renamed = run.rename(run.with_name("mate-tiny-s0-01234567"))  # as an earlier version called it
    capsys.readouterr()
    assert mate(*words, f"data_dir={moved}", "resume=true") == 0
    assert f"resuming runs/hybridqa/{renamed.name}" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "runs" / "hybridqa").iterdir()] == [renamed.name]

    (moved / "released_data" / "train.traced.json").write_text(
        json.dumps(json.loads((moved / "released_data" / "train.traced.json").read_text())[:100])
    )
    assert mate(*words, f"data_dir={moved}", "resume=true") == 2
    assert f"{renamed.name} has another data; leave out resume=true" in capsys.readouterr().err
    assert mate(*words, f"data_dir={moved}", f"name={renamed.name}", "resume=true") == 2
    assert "it was made with another data;" in capsys.readouterr().err
