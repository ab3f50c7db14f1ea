"""From one command line to several jobs, in turn: each is alone, and a failure or Ctrl-C is told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch.distributed

from mate_cli.cli.launch import RANK_VARIABLES
from mate_cli.cli.main import main
from mate_cli.config.train import TrainConfig
from mate_cli.system.errors import UserError
from tests.cli.jobs import Jobs


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_m_works_anywhere(jobs: Jobs, place: int) -> None:
    words = ["train", "model=mate,tapas", "seed=0,1"]
    words.insert(place, "-m")
    assert main(words) == 0
    assert [(job.model.name, job.seed) for job in jobs.configs] == [
        ("mate", 0),
        ("mate", 1),
        ("tapas", 0),
        ("tapas", 1),
    ]


def test_each_job_of_a_sweep_has_the_command_line_of_that_job(jobs: Jobs) -> None:
    before = list(sys.argv)
    assert main(["train", "-m", "seed=0,1", "data_dir=a b", "task=sample"]) == 0
    assert [argv[1:] for argv in jobs.argv] == [
        ["train", f"seed={seed}", "data_dir=a b", "task=sample"] for seed in (0, 1)
    ]
    assert all(Path(argv[0]).is_absolute() for argv in jobs.argv)
    assert sys.argv == before


def test_a_group_sweep_with_a_key_that_each_option_has(jobs: Jobs) -> None:
    assert main(["train", "-m", "model=mate,tapas", "model.attention.backend=eager"]) == 0
    assert [job.model.attention.backend for job in jobs.configs] == ["eager", "eager"]


def test_a_sweep_over_tasks_takes_each_ones_backbone(jobs: Jobs) -> None:
    assert main(["train", "-m", "task=sample,hybridqa"]) == 0
    assert [job.backbone.name for job in jobs.configs] == ["minilm", "bert_large"]


def test_one_jobs_distributed_state_does_not_reach_the_next(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    found: list[tuple[bool, set[str]]] = []

    def act(config: TrainConfig) -> None:
        found.append((torch.distributed.is_initialized(), set(RANK_VARIABLES) & set(os.environ)))
        for name in RANK_VARIABLES:
            os.environ[name] = "1"
        store = torch.distributed.FileStore(str(tmp_path / f"store{config.seed}"), 1)
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)

    jobs.act = act
    assert main(["train", "-m", "seed=0,1"]) == 0
    assert found == [(False, set())] * 2
    assert not torch.distributed.is_initialized()


def test_the_launchers_own_rank_stays(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    jobs.act = lambda config: os.environ.update(LOCAL_RANK="0")
    assert main(["train"]) == 0
    assert os.environ["LOCAL_RANK"] == "3"


def test_the_other_jobs_run_when_one_fails(jobs: Jobs, errors: Callable[[], list[str]]) -> None:
    def act(config: TrainConfig) -> None:
        if config.seed == 1:
            raise UserError("no data in 'here': give data_dir=FOLDER")

    jobs.act = act
    assert main(["train", "-m", "seed=0,1,2", "data_dir=x"]) == 2
    assert [job.seed for job in jobs.configs] == [0, 1, 2]
    assert errors() == [
        "error: job seed=1 data_dir=x: no data in 'here': give data_dir=FOLDER",
        "error: 1 of 3 jobs failed; the same command runs what is not done, and nothing else",
    ]


def test_ctrl_c_ends_a_sweep_and_tells_how_far_it_came(jobs: Jobs, capfd: pytest.CaptureFixture[str]) -> None:
    def act(config: TrainConfig) -> None:
        if config.seed == 1:
            raise KeyboardInterrupt

    jobs.act = act
    assert main(["train", "-m", "seed=0,1,2", "data_dir=x"]) == 130
    assert [job.seed for job in jobs.configs] == [0, 1]
    out, errors = capfd.readouterr()
    told = out[out.index("sweep of") :].splitlines()
    assert [line.split()[0] for line in told[1:]] == ["done", "interrupted", "not"]
    assert errors == "interrupted\n"


TWO_PROCESS_COMMAND = """
import os, sys, types
import pytorch_lightning as lightning
from pytorch_lightning.demos.boring_classes import BoringModel
from mate_cli.cli.main import main

def run(config):
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_steps=2, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(BoringModel())
    process = f"rank {trainer.global_rank} of {trainer.world_size}"
    line = f"seed {config.seed} {process}: {config.data_dir}\\n"
    os.write(1, line.encode())  # in one piece: both processes write to the same pipe

sys.modules["mate_cli.commands.train"] = types.SimpleNamespace(run=run)
sys.exit(main())
"""


@pytest.mark.slow
def test_a_sweep_of_two_process_jobs_runs_each_job_once_in_both_processes(tmp_path: Path) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "cwd"
    script.write_text(TWO_PROCESS_COMMAND, encoding="utf-8")
    folder.mkdir()
    text = 'it\'s [a], {b} ${c} "d" \\'
    (folder / text).mkdir()
    words = [sys.executable, str(script), "train", "task=wtq", "seed=0,1", "-m", f"data_dir={text}"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if line.startswith("seed"))
    assert lines == [f"seed {seed} rank {rank} of 2: {text}" for seed in (0, 1) for rank in (0, 1)]
    assert [path.name for path in folder.iterdir()] == [text]
