"""The sweep of an experiment: which jobs a command line makes of it."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from mate_cli.cli import diagnosis
from mate_cli.cli.main import main
from mate_cli.cli.sweep import starters
from mate_cli.cli.sweep.jobs import Ending, Job
from mate_cli.config.user_folder import VARIABLE
from mate_cli.reproduction.carry_out import run_child
from tests.cli.jobs import Jobs

HEADER = "# @package _global_\n"
SWEEP = f"""{HEADER}# Two models and two seeds.
defaults:
  - override /backbone: tiny

hydra:
  mode: MULTIRUN
  sweeper:
    params:
      model: mate,tapas
      seed: 0,1
      lr: 1e-4
"""


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Jobs:
    """The calls of ``mate train``, in a folder whose ``conf`` holds three experiments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "conf")
    monkeypatch.setattr(diagnosis, "missing_inputs", lambda *_: [])
    files = {
        "always": SWEEP,
        "asked": SWEEP.replace("  mode: MULTIRUN\n", ""),
        "wrong": SWEEP.replace("seed: 0,1", "seeds: 0,1"),
    }
    (tmp_path / "conf/experiment").mkdir(parents=True)
    for name, content in files.items():
        (tmp_path / f"conf/experiment/{name}.yaml").write_text(content)
    seen, module = Jobs(), types.ModuleType("train")
    module.run = seen.run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mate_cli.commands.train", module)
    return seen


def ran(jobs: Jobs) -> list[tuple[str, int, float]]:
    schedules = [config.task.schedules["laptop"] for config in jobs.configs]
    return [(config.model.name, config.seed, own.lr) for config, own in zip(jobs.configs, schedules, strict=True)]


FOUR = [(model, seed, 1e-4) for model in ("mate", "tapas") for seed in (0, 1)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["experiment=always"], FOUR),
        (["-m", "experiment=always"], FOUR),
        (["-m", "experiment=asked"], FOUR),
        (["experiment=asked"], [("mate", 0, 3e-4)]),
        (["experiment=always", "seed=5"], [("mate", 5, 1e-4), ("tapas", 5, 1e-4)]),
        (["experiment=always", "model=sat", "lr=1e-3"], [("sat", 0, 1e-3), ("sat", 1, 1e-3)]),
        (["experiment=always", "model=sat", "seed=5"], [("sat", 5, 1e-4)]),
        (["experiment=always", "model=sat", "seed=5", "lr=2e-4"], [("sat", 5, 2e-4)]),
        (["experiment=always", "model=sat", "seed=5,6"], [("sat", 5, 1e-4), ("sat", 6, 1e-4)]),
    ],
)
def test_the_command_line_wins_over_what_an_experiment_sweeps(
    words: list[str], expected: list[tuple[str, int, float]], jobs: Jobs
) -> None:
    assert main(["train", *words]) == 0
    assert ran(jobs) == expected
    assert all(argv[-1] == f"--config-dir={Path.cwd() / 'conf'}" for argv in jobs.argv)


def test_the_words_of_a_job_are_one_job(jobs: Jobs) -> None:
    """A child process, of Lightning or of a sweep, gets the words of its job and must not sweep again."""
    assert main(["train", "experiment=always"]) == 0
    words, jobs.configs, jobs.argv = jobs.argv[2][1:], [], []
    assert main(words) == 0
    assert ran(jobs) == [FOUR[2]]


def test_a_mistake_in_what_is_swept_is_one_line(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "experiment=wrong"]) == 2
    assert capsys.readouterr().err == "error: unknown key 'seeds': did you mean seed?\n"
    assert jobs.configs == []


def test_a_sweep_is_shown_without_its_jobs(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "experiment=always", "--cfg", "job"]) == 0
    assert "name: tiny" in capsys.readouterr().out
    assert jobs.configs == []


def test_jobs_that_another_machine_may_run_are_told_the_folder(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Job] = []

    def start(config: object, jobs: list[Job]) -> object:
        started.extend(jobs)
        return ((job, Ending()) for job in jobs)

    monkeypatch.setitem(starters._STARTERS, "local", start)
    assert main(["train", "experiment=always", "hydra/launcher=local"]) == 0
    assert len(started) == 4
    assert {job.words[-1] for job in started} == {f"--config-dir={Path.cwd() / 'conf'}"}


def test_the_steps_to_a_table_find_the_folder(jobs: Jobs, tmp_path: Path) -> None:
    assert run_child(["ls", "experiments"], tmp_path / "log") == 0
    assert "always" in (tmp_path / "log").read_text()
