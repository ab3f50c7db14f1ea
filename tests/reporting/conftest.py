"""Run folders of one task, made without training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mate_cli.config.plain import to_plain
from tests.config.test_config import train_config
from tests.reporting.run_folders import hits, write_run


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return to_plain(train_config("backbone=tiny", "schedule=smoke"))


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
