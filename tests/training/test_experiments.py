"""The shipped experiments: each composes, has the settings of its records, and runs two steps on generated data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mate_cli.cli.diagnosis import diagnose
from mate_cli.cli.experiment import add_sweep
from mate_cli.cli.overrides import Arguments
from mate_cli.config.catalogue import options
from mate_cli.config.paths import PathsConfig, conf_folder
from mate_cli.config.plain import to_plain
from mate_cli.config.task import TaskConfig, active_schedule
from mate_cli.runs.folder import load_run_config
from mate_cli.runs.identity import settings_in_use
from mate_cli.runs.records import read_run
from mate_cli.tables.data_folder import data_folder
from tests.config.test_config import train_config
from tests.training.conftest import fast

ROOT = Path(__file__).parents[2]
EXPERIMENTS = [option.name for option in options("experiment")]
Mate = Callable[..., int]


def header(name: str) -> str:
    lines = (conf_folder() / "experiment" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    return " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))


def records(name: str) -> list[Path]:
    """The run folders that the header of an experiment names; ``*`` stands for several."""
    match = re.search(r"results/runs/(\w+)/((?:, | and |[\w*-]+)*)", header(name))
    assert match is not None
    folder = ROOT / "results" / "runs" / match[1]
    return sorted(path for pattern in re.split(", | and ", match[2]) if pattern for path in folder.glob(pattern))


def test_four_experiments_are_shipped() -> None:
    assert EXPERIMENTS == ["hybridqa_laptop", "hybridqa_paper", "hybridqa_seeds", "wtq_laptop"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_says_what_it_costs_and_what_to_expect(name: str) -> None:
    assert re.search(r"Cost: .*\d.* Expected.*: .*\d", header(name))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_no_mistakes(name: str, tmp_path: Path) -> None:
    arguments = Arguments(overrides=[f"experiment={name}", f"data_dir='{tmp_path}'"])
    add_sweep("train", arguments)
    assert not diagnose("train", arguments.overrides, arguments.multirun, complete=True).mistakes
    assert arguments.multirun == (name == "hybridqa_seeds")


def test_the_paper_is_on_its_hardware() -> None:
    config = train_config("experiment=hybridqa_paper")
    schedule, hardware = active_schedule(config), config.hardware
    assert (schedule.batch, schedule.steps, schedule.max_tokens) == (128, 80000, 2048)
    assert (config.backbone.name, hardware.name, hardware.devices, hardware.nodes) == ("bert_large", "tpu_v3_32", 8, 4)


@pytest.mark.parametrize("name", ["hybridqa_laptop", "wtq_laptop"])
def test_words_of_the_command_line_win_over_the_experiment(name: str) -> None:
    config = train_config(f"experiment={name}", "task=sqa", "backbone=tiny", "schedule=smoke", "model.row_ratio=0.25")
    assert (config.task.name, config.backbone.name, config.schedule) == ("sqa", "tiny", "smoke")
    assert (config.model.name, config.model.row_ratio, config.hardware.name) == ("mate", 0.25, "cpu")


@pytest.mark.parametrize(("name", "count"), [("hybridqa_laptop", 3), ("wtq_laptop", 1)])
def test_the_records_of_an_experiment_have_its_settings_and_scores(name: str, count: int) -> None:
    runs = [read_run(path) for path in records(name)]
    assert len(runs) == count
    for run in runs:
        trained = load_run_config(run.path)
        config = train_config(f"experiment={name}", f"seed={trained.seed}", f"data_dir={trained.data_dir}")
        assert settings_in_use(to_plain(trained)) == settings_in_use(to_plain(config))
        score = run.metrics["dev"]["model"]
        number = score["all"]["hits@1"] if "all" in score else score["accuracy"]["mean"]
        assert f"{100 * number:.1f}" in header(name)


def test_the_records_of_the_sweep_are_its_jobs() -> None:
    configs = [load_run_config(path) for path in records("hybridqa_seeds")]
    jobs = {(config.model.name, config.seed) for config in configs if config.ablation.name == "none"}
    assert jobs == {(model, seed) for model in ("mate", "tapas") for seed in (0, 1, 2)}


@pytest.mark.parametrize("name", fast("wtq_laptop", of=EXPERIMENTS))
def test_an_experiment_runs(name: str, mate: Mate, tmp_path: Path) -> None:
    """Two steps of its task and model, on the sample in the layout of its data."""
    sample = data_folder(TaskConfig(name="sample", format="sample"), None, PathsConfig())
    data = sample / "wtq" if name.startswith("wtq") else sample
    words = ("backbone=tiny", "schedule=smoke", "hardware=cpu", "hardware.precision='32'", f"data_dir={data}", "seed=0")
    assert mate("train", f"experiment={name}", *words) == 0
    runs = sorted(path.parent for path in (tmp_path / "runs").rglob("status.json"))
    assert [json.loads((run / "status.json").read_text())["state"] for run in runs] == ["done"] * len(runs)
    assert [run.name.split("-")[0] for run in runs] == (["mate", "tapas"] if name == "hybridqa_seeds" else ["mate"])
