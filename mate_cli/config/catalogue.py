"""The shipped options of each configuration group, read from the YAML files themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from omegaconf import OmegaConf

from mate_cli.config.model import ModelConfig
from mate_cli.config.shipped import conf_folder, shipped_folder

GROUPS = {
    "models": "model",
    "ablations": "ablation",
    "tasks": "task",
    "backbones": "backbone",
    "hardware": "hardware",
    "loggers": "logger",
    "launchers": "hydra/launcher",
    "analyses": "analysis",
    "suites": "suite",
}
"""Configuration group of each kind of option that `mate ls` lists."""

LISTED = (*list(GROUPS)[:5], "schedules", *list(GROUPS)[5:])
"""Everything that `mate ls` lists, in order; schedules belong to tasks and are no group."""


@dataclass(frozen=True)
class Option:
    """One YAML file of a group: its name and the first line of its comment."""

    name: str
    line: str


def options(group: str) -> list[Option]:
    """The options of a group in alphabetical order; empty where there is no such group."""
    return [Option(file.stem, _comment(file.read_text(encoding="utf-8"))) for file in _files(group)]


def schedules(task: str = "*") -> list[Option]:
    """The schedules of all tasks or of one, named ``task: schedule``, in the order of the files."""
    found = []
    for file in _files("task", task):
        for name, schedule in _task_schedules(file).items():
            found.append(Option(f"{file.stem}: {name}", _schedule_line(schedule)))
    return found


def model_options() -> dict[str, ModelConfig]:
    """The options of the group ``model`` by name, each as a command would receive it."""
    schema = OmegaConf.structured(ModelConfig)
    merged = {file.stem: OmegaConf.merge(schema, OmegaConf.load(file)) for file in _files("model")}
    return {name: cast(ModelConfig, OmegaConf.to_object(option)) for name, option in merged.items()}


def experiment_names() -> list[str]:
    """The tables and figures of the paper that `mate reproduce` knows, in alphabetical order."""
    return sorted(file.stem for file in reproduce_folder().glob("*.yaml"))


def reproduce_folder() -> Path:
    """The folder with one YAML file for each table and figure of the paper."""
    return shipped_folder("reproduce")


def default_option(command: str, group: str) -> str:
    """The option of a group that a command takes where none is named."""
    root = yaml.safe_load((conf_folder() / f"{command}.yaml").read_text(encoding="utf-8"))
    chosen = {name: option for entry in root["defaults"] if isinstance(entry, dict) for name, option in entry.items()}
    return str(chosen[group] or "none")


def _files(group: str, name: str = "*") -> list[Any]:
    return sorted((conf_folder() / group).glob(f"{name}.yaml"))


def _task_schedules(file: Any) -> dict[str, Any]:
    """The schedules of a task: those of the task that it is a variant of, if it is, with what it changes in them."""
    task = yaml.safe_load(file.read_text(encoding="utf-8"))
    parents = (entry for entry in task.get("defaults", ()) if isinstance(entry, str))
    found: dict[str, Any] = {}
    for parent in parents:
        found |= _task_schedules(file.with_name(f"{parent}.yaml"))
    return found | {name: found.get(name, {}) | changed for name, changed in task.get("schedules", {}).items()}


def _comment(text: str) -> str:
    lines = (line.removeprefix("#").strip() for line in text.splitlines())
    return next(line for line in lines if not line.startswith("@"))  # Hydra's own directives come before


def _schedule_line(schedule: dict[str, Any]) -> str:
    epochs = schedule.get("epochs")
    length = f"{epochs} epoch{'s' if epochs != 1 else ''}" if epochs else f"{schedule['steps']:,} steps"
    return f"{length}, batch {schedule['batch']}, {schedule['max_tokens']} tokens, lr {schedule['lr']:g}"
