"""The launchers of ``mate`` for Hydra, which looks for launchers in this namespace package alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class MateLauncher(Launcher):
    """Composes each job and hands it to the sweep (``cli.launch.CommandRunner``), which runs all of them."""

    def __init__(self, name: str, **settings: Any) -> None:
        self.name, self.settings = name, settings

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.task: Any = task_function
        self.loader, self.config = hydra_context.config_loader, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        for overrides in job_overrides:
            self.task.add(overrides, self.loader.load_sweep_config(self.config, list(overrides)))
        self.task.start(self.name, self.settings)
        return [JobReturn(status=JobStatus.COMPLETED) for _ in job_overrides]
