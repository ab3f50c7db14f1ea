"""The plan of a sweep, and what is said of it: runs in all states, endings of all kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mate_cli.cli.sweep.jobs import Ending, Job, Sweep
from mate_cli.config.paths import PathsConfig
from mate_cli.config.plain import to_plain
from mate_cli.config.train import TrainConfig
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.place import current_identity, run_group, run_path
from mate_cli.system.errors import UserError
from tests.config.test_config import train_config


@pytest.fixture(scope="module")
def default() -> TrainConfig:
    return train_config("task=sample", "backbone=tiny", "schedule=smoke")


@pytest.fixture
def base(default: TrainConfig, tmp_path: Path) -> TrainConfig:
    return replace(default, paths=PathsConfig(runs=str(tmp_path)))


def path_of(config: TrainConfig) -> Path:
    return run_path(config, current_identity(config))


def made(config: TrainConfig, state: str) -> None:
    """A run folder in a state, as training leaves it."""
    folder = RunFolder(path_of(config))
    folder.path.mkdir(parents=True)
    folder.config_file.write_text(yaml.safe_dump(to_plain(config)))
    folder.set_status(state)


def sweep_of(*configs: TrainConfig) -> Sweep:
    sweep = Sweep("train")
    for config in configs:
        sweep.add([f"seed={config.seed}", "task=sample"], config)
    return sweep


def all_end_well(jobs: Sequence[Job]) -> Iterator[tuple[Job, Ending]]:
    yield from ((job, Ending()) for job in reversed(jobs))


def test_what_is_done_is_skipped_what_has_begun_goes_on_and_the_rest_starts(base: TrainConfig) -> None:
    configs = [replace(base, seed=seed) for seed in range(5)]
    for config, state in zip(configs, ("done", "running", "failed", "trained"), strict=False):
        made(config, state)
    sweep = sweep_of(*configs)
    assert [job.done for job in sweep.jobs] == [True, False, False, False, False]
    assert [job.config.resume for job in sweep.jobs] == [False, True, True, True, False]
    assert [job.words[-1] == "resume=true" for job in sweep.jobs] == [False, True, True, True, False]
    ran: list[int] = []

    def start(jobs: Sequence[Job]) -> Iterator[tuple[Job, Ending]]:
        ran.extend(job.number for job in jobs)
        return all_end_well(jobs)

    sweep.run(start)
    assert ran == [2, 3, 4, 5]
    assert sweep.summary().splitlines()[0] == "sweep of 5 jobs: 1 done before, 4 done"
    sweep.check()


def test_overwrite_runs_everything_from_its_start(base: TrainConfig) -> None:
    made(base, "done")
    (job,) = sweep_of(replace(base, overwrite=True)).jobs
    assert (job.done, job.config.resume, job.words) == (False, False, ("seed=0", "task=sample"))


def test_a_folder_of_another_configuration_is_neither_skipped_nor_gone_on_with(base: TrainConfig) -> None:
    made(replace(base, name="mine"), "done")
    with pytest.raises(UserError, match="it was made with another seed"):
        sweep_of(replace(base, name="mine", seed=1))


def test_two_jobs_never_share_a_folder(base: TrainConfig) -> None:
    with pytest.raises(UserError, match=r"jobs 1 and 2 have the same run folder .*mine: leave out name"):
        sweep_of(*(replace(base, name="mine", seed=seed) for seed in (0, 1)))


def test_the_summary_tells_of_each_job_in_order(base: TrainConfig) -> None:
    configs = [replace(base, seed=seed) for seed in range(4)]
    made(configs[0], "done")
    made(configs[1], "failed")
    sweep = sweep_of(*configs)

    def start(jobs: Sequence[Job]) -> Iterator[tuple[Job, Ending]]:
        yield jobs[1], Ending(3, "killed by SIGKILL")
        yield jobs[0], Ending()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep.run(start)
    folders = [path_of(config) for config in configs]
    assert sweep.summary().splitlines() == [
        "sweep of 4 jobs: 1 done before, 1 done, 1 failed, 1 not run",
        f"  done before  seed=0  {folders[0]}",
        f"  done         seed=1  {folders[1]}",
        f"  failed       seed=2  {folders[2]}: killed by SIGKILL",
        f"  not run      seed=3  {folders[3]}",
    ]
    with pytest.raises(UserError, match="1 of 4 jobs failed; the same command runs what is not done") as raised:
        sweep.check()
    assert raised.value.exit_code == 3


def test_other_commands_always_run(base: TrainConfig) -> None:
    made(base, "done")
    sweep = Sweep("evaluate")
    for split in ("dev", "test"):
        sweep.add([f"split={split}"], base)
    sweep.run(all_end_well)
    assert sweep.summary().splitlines() == ["sweep of 2 jobs: 2 done", "  done  split=dev", "  done  split=test"]


def test_a_group_is_all_but_the_seed(base: TrainConfig, default: TrainConfig) -> None:
    same = [base, replace(base, seed=5), replace(default, name="other")]
    others = [replace(base, schedule="laptop"), train_config("model=tapas")]
    (group,) = {run_group(config, current_identity(config)) for config in same}
    assert group not in {run_group(config, current_identity(config)) for config in others}
    assert group.startswith("sample-mate-tiny-")
