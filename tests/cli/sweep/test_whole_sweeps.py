"""Real sweeps of real trainings, by launcher: all jobs, one killed, the same command again; two processes a job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LAUNCHERS = [
    pytest.param(("hydra/launcher=local", "hydra.launcher.at_once=2"), id="local"),
    pytest.param(("hydra/launcher=ray",), id="ray", marks=pytest.mark.sweep),
    pytest.param(("hydra/launcher=submitit", "hydra.launcher.cluster=local"), id="submitit", marks=pytest.mark.sweep),
]
QUICK = {"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}  # Ray would let everything else on the machine go first
SIX = ("-m", "seed=0,1,2", "model=mate,tapas", "schedule=smoke", "task=sample", "backbone=tiny", "hardware=cpu")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


class Command:
    """``mate train WORDS`` as a process, what it prints in a file."""

    def __init__(self, folder: Path, cache: Path, *words: str) -> None:
        self.log = folder / "output.txt"
        environment = {**os.environ, "MATE_CACHE": str(cache), "PYTHONPATH": str(ROOT), **QUICK}
        with self.log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mate_cli", "train", *words],
                cwd=folder,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def end(self) -> tuple[int, list[str]]:
        """The exit code and the lines."""
        code = self.process.wait(timeout=3000)
        return code, self.log.read_text().splitlines()


def summary(lines: list[str]) -> list[str]:
    """From the summary on."""
    return lines[max(number for number, line in enumerate(lines) if line.startswith("sweep of ")) :]


def process_of(sweep: Command, *words: str) -> int:
    """The process that trains with these words, as soon as the sweep has started it."""
    deadline = time.monotonic() + 1500
    while time.monotonic() < deadline and sweep.process.poll() is None:
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command, folder = file.read_bytes().decode().split("\0"), file.with_name("cwd").resolve()
            except OSError:  # it has ended
                continue
            if set(words) <= set(command) and folder == sweep.log.parent.resolve():  # no other sweep's
                return int(file.parent.name)
        time.sleep(0.05)
    raise AssertionError(f"no process with {words}: {sweep.log.read_text()}")


def states(folder: Path) -> dict[str, str]:
    """State and time of each run, by its folder's name."""
    records = {file.parent.name: json.loads(file.read_text()) for file in folder.glob("runs/sample/*/status.json")}
    return {name: f"{record['state']} {record['time']}" for name, record in records.items()}


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the process to kill in /proc")
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_killed_job_leaves_the_others_and_is_run_alone_by_the_same_command(
    launcher: tuple[str, ...], tmp_path: Path, cache: Path
) -> None:
    first = Command(tmp_path, cache, *SIX, *launcher)
    os.kill(process_of(first, "mate_cli", "train", "seed=1", "model=tapas"), signal.SIGKILL)
    code, lines = first.end()
    assert code == 1, lines
    assert lines[-1] == "error: 1 of 6 jobs failed; the same command runs what is not done, and nothing else"
    told = summary(lines)
    assert told[0] == "sweep of 6 jobs: 5 done, 1 failed"
    (failed,) = [line.split() for line in told if line.split()[0] == "failed"]
    assert failed[1:3] == ["seed=1", "model=tapas"]
    assert " ".join(failed).endswith("killed by SIGKILL")
    before = {name: state for name, state in states(tmp_path).items() if state.startswith("done")}
    assert len(before) == 5

    code, lines = Command(tmp_path, cache, *SIX, *launcher).end()
    assert code == 0, lines
    assert summary(lines)[0] == "sweep of 6 jobs: 5 done before, 1 done"
    after = states(tmp_path)
    assert len(after) == 6
    assert before.items() < after.items()
    assert all(state.startswith("done") for state in after.values())
    assert {folder.name for folder in tmp_path.glob("runs/sample/*")} == set(after)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the second process in /proc")
@pytest.mark.parametrize("launcher", ["serial", "local"])
def test_each_job_may_be_two_processes(launcher: str, tmp_path: Path, cache: Path) -> None:
    words = ("-m", "seed=0,1", "schedule=smoke", "task=sample", "backbone=tiny", "hardware=cpu", "hardware.devices=2")
    sweep = Command(tmp_path, cache, *words, f"hydra/launcher={launcher}")
    for seed in ("seed=0", "seed=1"):  # Lightning starts the second process by the words of the job alone
        second = Path("/proc") / str(process_of(sweep, "mate_cli.__main__", "train", seed))
        assert b"-m" not in second.joinpath("cmdline").read_bytes().split(b"\0")[3:]
        assert b"LOCAL_RANK=1" in second.joinpath("environ").read_bytes().split(b"\0")
    code, lines = sweep.end()
    assert code == 0, lines
    assert summary(lines)[0] == "sweep of 2 jobs: 2 done"
    assert [state.split()[0] for state in states(tmp_path).values()] == ["done"] * 2
    configs = [yaml.safe_load(file.read_text()) for file in tmp_path.glob("runs/sample/*/config.yaml")]
    assert sorted(config["seed"] for config in configs) == [0, 1]
    assert [config["hardware"]["devices"] for config in configs] == [2, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["output.txt", "runs"]


@pytest.mark.sweep
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the worker to kill in /proc")
def test_a_lost_ray_worker_costs_its_own_job_and_takes_it_along(tmp_path: Path, cache: Path) -> None:
    words = ("-m", "seed=0,1", "schedule=smoke", "task=sample", "backbone=tiny", "hardware=cpu", "hydra/launcher=ray")
    sweep = Command(tmp_path, cache, *words)
    job = Path("/proc") / str(process_of(sweep, "mate_cli", "train", "seed=1"))
    (worker,) = [line.split()[1] for line in (job / "status").read_text().splitlines() if line.startswith("PPid:")]
    os.kill(int(worker), signal.SIGKILL)
    code, lines = sweep.end()
    assert code == 1, lines
    told = summary(lines)
    assert told[0] == "sweep of 2 jobs: 1 done, 1 failed"
    assert "its worker was lost: " in told[2]
    assert not job.exists()
