"""The launchers of sweeps (``hydra/launcher=NAME``): a dataclass for the keys of each, ``hydra.launcher.KEY``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mate_cli.config.rules import key


@dataclass
class SerialConfig:
    """One job after the other, in this process."""


@dataclass
class LocalConfig:
    """Each job in a process of its own."""

    at_once: int = key(1, "jobs that run at the same time", low=1)


@dataclass
class RayConfig:
    """Each job as a task of Ray."""

    address: str | None = key(None, "address of a Ray cluster; null: one of its own on this machine")
    cpus: float = key(1.0, "CPU cores that a job holds", low=0)
    gpus: float = key(0.0, "GPUs that a job holds, and sees", low=0)


@dataclass
class SubmititConfig:
    """Each job submitted by submitit."""

    cluster: str | None = key(None, "slurm, or local for processes of this machine; null: slurm where there is one")
    folder: str = key("./runs/.submitit", "folder of its logs, on a disk that all machines see")
    minutes: int = key(1440, "time limit of a job", low=1)
    parameters: dict[str, Any] | None = None  # what submitit's update_parameters takes


LAUNCHERS: dict[str, type] = {
    "serial": SerialConfig,
    "local": LocalConfig,
    "ray": RayConfig,
    "submitit": SubmititConfig,
}
