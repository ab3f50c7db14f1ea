"""docs/configuration.md does what it says, in an empty folder: options of the user's own, an experiment, short keys."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from mate_cli.runs.folder import load_run_config
from tests.config.test_config import train_config
from tests.test_tutorials import BLOCK, commands, missing

GUIDE = (Path(__file__).parents[2] / "docs/configuration.md").read_text(encoding="utf-8")
Mate = Callable[..., int]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The files of the guide, in the folder that the test runs in."""
    written = []
    for _, file, block in BLOCK.findall(GUIDE):
        if file:
            written.append(tmp_path / file)
            written[-1].parent.mkdir(parents=True, exist_ok=True)
            written[-1].write_text(block, encoding="utf-8")
    return written


def test_a_data_set_a_model_and_an_experiment_are_added_without_code(
    mate: Mate, files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [file.suffix for file in files] == [".csv"] * 3 + [".yaml"] * 3
    followed = [
        command for language, _, block in BLOCK.findall(GUIDE) if language == "console" for command in commands(block)
    ]
    assert len(followed) == 4
    for command in followed:
        assert mate(*shlex.split(command.words)[1:]) == 0, command.words
        assert missing(command, capsys.readouterr().out) == [], command.words
    first, second = (load_run_config(tmp_path / "runs/prices" / name) for name in ("first", "second"))
    assert (first.task.name, first.model.name, first.model.row_ratio) == ("prices", "mate_by_row", 0.75)
    assert first.task.schedules["short"].decay == "cosine"
    assert [(config.task.schedules["short"].steps, config.lr, config.steps) for config in (first, second)] == [
        (6, None, None),
        (2, None, None),
    ]
    assert second.task.schedules["short"].lr == 1e-3


@pytest.mark.slow
def test_the_jobs_of_a_sweep_find_the_folder_in_processes_of_their_own(
    mate: Mate, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATE_CONFIG_DIR", "conf")
    assert mate("train", "-m", "experiment=prices_tiny", "seed=3", "steps=1", "hydra/launcher=local") == 0
    (run,) = (tmp_path / "runs/prices").iterdir()
    assert yaml.safe_load((run / "environment.json").read_text())["command"][-1] == f"--config-dir={tmp_path}/conf"


@pytest.mark.slow
def test_further_processes_of_a_training_find_the_folder(
    mate_process: Callable[..., object], files: list[Path], tmp_path: Path
) -> None:
    words = ("hardware.devices=2", "hardware.strategy=ddp", "hardware.micro_batch=2", "name=two")
    process = mate_process("train", "--config-dir", "conf", "experiment=prices_tiny", *words)
    output, _ = process.communicate(timeout=300)  # type: ignore[attr-defined]
    assert process.returncode == 0, output  # type: ignore[attr-defined]
    assert (tmp_path / "runs/prices/two/metrics.json").exists()


def test_the_schedule_of_the_guide_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for _, file, block in BLOCK.findall(GUIDE) if "night:" in block and not file)
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment/overnight.yaml").write_text(block)
    monkeypatch.setenv("MATE_CONFIG_DIR", str(tmp_path))
    config = train_config("experiment=overnight")
    assert (config.schedule, config.task.schedules["night"].epochs) == ("night", 2)
    assert "paper" in config.task.schedules


def test_the_two_commands_of_the_guide_are_one_run() -> None:
    block = next(block for _, _, block in BLOCK.findall(GUIDE) if "lr=" in block)
    one, other = (line for line in block.replace("\\\n", " ").splitlines())
    configs = [train_config(*shlex.split(line)[2:]) for line in (one, other)]
    assert configs[0] == configs[1]
