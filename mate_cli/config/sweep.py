"""The launchers of sweeps (``hydra/launcher=NAME``): a dataclass for the keys of each, ``hydra.launcher.KEY``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mate_cli.config.rules import key
from mate_cli.system.errors import shown

# What submitit may be told of a job: how much of the cluster it gets, and where. Its other parameters hold shell code
# (setup, teardown), programs (python) or any option of sbatch and srun, and a file of options must run no code.
_SHARED = ("cpus_per_task", "gpus_per_node", "mem_gb", "name", "nodes", "tasks_per_node")
_SLURM = (
    *("account", "comment", "constraint", "cpus_per_gpu", "dependency", "exclude", "exclusive", "gpus_per_task"),
    *("gres", "mem", "mem_per_cpu", "mem_per_gpu", "nodelist", "partition", "qos", "time", "wckey"),
)
_PARAMETERS = (*_SHARED, *(f"slurm_{name}" for name in (*_SHARED, *_SLURM)))


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
    parameters: dict[str, Any] | None = None  # resources, by their names in submitit's update_parameters

    def problems(self) -> list[str]:
        """A line for each parameter that is no resource, or whose value could be more than one word of a script."""
        lines = [] if self.folder.isprintable() else [f"folder={shown(self.folder)}: must be one line of plain text"]
        return lines + list(parameter_problems(self.parameters or {}))


def parameter_problems(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each of submitit's parameters that a sweep cannot set, or whose value it cannot have."""
    for name, value in parameters.items():
        if name not in _PARAMETERS:
            yield (
                f"parameters.{name} is no resource of a job: choose from {', '.join(_SHARED)} and, with slurm_ in "
                f"front, {', '.join(_SLURM)}"
            )
        elif not _is_plain(value):
            yield f"parameters.{name}={shown(value)}: must be a number, true, false, or text without blanks and quotes"


def _is_plain(value: Any) -> bool:
    """Submitit writes values into the head of a shell script, where the second line of a text would run."""
    if isinstance(value, str):
        return value.isprintable() and not any(sign in value for sign in " '\"\\")
    return value is None or isinstance(value, (bool, int, float))


LAUNCHERS: dict[str, type] = {
    "serial": SerialConfig,
    "local": LocalConfig,
    "ray": RayConfig,
    "submitit": SubmititConfig,
}
