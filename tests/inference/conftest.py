"""Runs that the tests of inference share with those of training, and the two stages of PointR."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mate_cli.cli.main import main
from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import TaskConfig
from mate_cli.tables.data_folder import data_folder
from tests.training.conftest import TINY, mate, mate_process, train_once  # noqa: F401


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A finished selector of two steps, which knows no conversations; tests that write into its folder copy it."""
    folder: Path = train_once(tmp_path_factory, cache, *TINY, "name=first")
    return folder / "runs" / "sample" / "first"


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """The sample cut to 60 questions a split, the last one blind, as HybridQA's is."""
    sample = data_folder(TaskConfig(name="sample", format="sample"), None, PathsConfig(cache=str(cache)))
    folder = shutil.copytree(sample, tmp_path_factory.mktemp("data") / "sample")
    for file in (folder / "released_data").iterdir():
        questions = json.loads(file.read_text())[:60]
        if file.name.startswith("test"):
            questions = [{k: v for k, v in entry.items() if not k.startswith("answer-")} for entry in questions]
        file.write_text(json.dumps(questions))
    return folder


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, cache: Path, data: Path) -> Path:
    """Two steps each of a selector and of a reader; a copy of the selector that sees the table alone."""
    folder = tmp_path_factory.mktemp("pointr")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATE_CACHE", str(cache))
        patch.chdir(folder)
        assert main(["train", "task=hybridqa", *TINY, f"data_dir={data}", "name=selector"]) == 0
        assert main(["train", "task=hybridqa_reader", *TINY, f"data_dir={data}", "name=reader"]) == 0
    copied_run(
        folder / "runs/hybridqa/selector", folder / "runs/hybridqa/table-selector", "input: both", "input: table"
    )
    return folder / "runs"


def copied_run(run: Path, to: Path, old: str, new: str) -> Path:
    """The same weights under another configuration."""
    shutil.copytree(run, to)
    config = (to / "config.yaml").read_text()
    assert old in config
    (to / "config.yaml").write_text(config.replace(old, new))
    return to


@pytest.fixture
def stages(runs: Path) -> tuple[str, str]:
    return f"selector={runs}/hybridqa/selector", f"reader={runs}/hybridqa_reader/reader"
