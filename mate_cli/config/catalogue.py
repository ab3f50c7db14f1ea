"""The options of each configuration group, shipped and the user's own, read from the YAML files themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from omegaconf import OmegaConf

from mate_cli.config.paths import conf_folder, shipped_folder
from mate_cli.config.plain import to_plain
from mate_cli.config.task import ScheduleConfig
from mate_cli.config.user_folder import option_files
from mate_cli.system.errors import UserError

_T = TypeVar("_T")

GROUPS = {
    "models": "model",
    "ablations": "ablation",
    "tasks": "task",
    "backbones": "backbone",
    "hardware": "hardware",
    "experiments": "experiment",
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
    return [Option(file.stem, _comment(file.read_text(encoding="utf-8"))) for file in option_files(group)]


def schedules(task: str = "*") -> list[Option]:
    """The schedules of all tasks or of one, named ``task: schedule``, in the order of the files."""
    return [
        Option(f"{file.stem}: {name}", _schedule_line(schedule))
        for file in option_files("task", task)
        for name, schedule in (option_content("task", file.stem).get("schedules") or {}).items()
    ]


def typed_options(group: str, schema: type[_T]) -> dict[str, _T]:
    """The options of a group by name, each as a command would receive it: an object of the class ``schema``."""
    names = [file.stem for file in option_files(group)]
    merged = {name: OmegaConf.merge(OmegaConf.structured(schema), option_content(group, name)) for name in names}
    return {name: cast(_T, OmegaConf.to_object(option)) for name, option in merged.items()}


def option_content(group: str, name: str, heirs: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what an option says, with what it inherits from the options of its group that its defaults name.

    Raises:
        UserError: it inherits from itself, by way of ``heirs``.
    """
    if name in heirs:
        raise UserError(f"{group}={heirs[0]} inherits from itself: {', '.join([*heirs, name])}")
    (file,) = option_files(group, name)
    content = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.load(file)))
    names = [entry for entry in content.pop("defaults", ()) if isinstance(entry, str) and entry != "_self_"]
    parents = [option_content(group, parent, (*heirs, name)) for parent in names]
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.merge(*parents, content)))


def reproduction_names() -> list[str]:
    """The tables and figures of the paper that `mate reproduce` knows, in alphabetical order."""
    return sorted(file.stem for file in reproduce_folder().glob("*.yaml"))


def reproduce_folder() -> Path:
    """The folder with one YAML file for each table and figure of the paper."""
    return shipped_folder("reproduce")


def default_options(command: str) -> dict[str, str]:
    """Return the groups of a command that have options, each with its default; ``none`` where there is none."""
    root = yaml.safe_load((conf_folder() / f"{command}.yaml").read_text(encoding="utf-8"))
    chosen = {name: option for entry in root["defaults"] if isinstance(entry, dict) for name, option in entry.items()}
    return {name: option or "none" for name, option in chosen.items()}


def _comment(text: str) -> str:
    """Return the first line of the comment at the top of a file; Hydra's own directives are none."""
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.removeprefix("#").strip().startswith("@"):
            return line.removeprefix("#").strip()
    return ""


def _schedule_line(schedule: dict[str, Any]) -> str:
    values = to_plain(ScheduleConfig()) | schedule
    epochs, steps, rate = values["epochs"], values["steps"], values["lr"]
    length = f"{epochs} epoch{'s' if epochs != 1 else ''}" if epochs else f"{steps or 0:,} steps"
    shown = rate if isinstance(rate, str) else f"{rate:g}"  # a file may leave it open
    return f"{length}, batch {values['batch']}, {values['max_tokens']} tokens, lr {shown}"
