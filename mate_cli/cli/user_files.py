"""Mistakes in the files of a user's configuration folder, all at once, before Hydra reads any of them.

The files may come from elsewhere. Like words on a command line they choose options and set keys: they name no code,
read no environment, and change nothing of Hydra but the sweep of an experiment: over which keys, where, and with which
resources.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hydra.plugins.config_source import ConfigSource
from omegaconf import OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException

from mate_cli.cli.harmless import file_problems
from mate_cli.config import schema
from mate_cli.config.bench import SuiteConfig
from mate_cli.config.catalogue import option_content
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.model import BackboneConfig, ModelConfig
from mate_cli.config.paths import conf_folder
from mate_cli.config.plain import leaves
from mate_cli.config.rules import unknown_name
from mate_cli.config.sweep import parameter_problems
from mate_cli.config.task import TaskConfig
from mate_cli.config.train import TrainConfig
from mate_cli.config.user_folder import FLAG, GROUPS, option_files, user_folder
from mate_cli.system.errors import UserError

# The class whose keys the files of a group set; those of all groups at once in the files that belong to none.
SCHEMAS: dict[str, type] = {
    "experiment": TrainConfig,
    "task": TaskConfig,
    "model": ModelConfig,
    "backbone": BackboneConfig,
    "hardware": HardwareConfig,
    "ablation": TrainConfig,
    "suite": SuiteConfig,
}
_GLOBAL = ("experiment", "ablation")
_CHOSEN = (*GROUPS, "logger", "analysis", "hydra/launcher")  # by the defaults of a file
_PARENT = re.compile(r"[\w-]+")
_CHOICE = re.compile(r"override /(?P<group>[\w/]+?)(@_global_\.(?!hydra)\w+)?")
# Not the address or folder of a launcher: a sweep loads the pickles that it finds there.
_HYDRA_KEY = re.compile(
    r"mode|launcher\.(at_once|cluster|cpus|gpus|minutes|parameters)|sweeper\.params\.(?!\W*hydra).+"
)


def check_user_files() -> None:
    """Check every file of the user's configuration folder.

    Raises:
        UserError: the folder is not there, or files have mistakes; a line for each. Or one inherits from itself.
    """
    folder = user_folder()
    if folder is None:
        return
    if not folder.is_dir():
        raise UserError(f"{FLAG}: {folder} is no folder")
    if not any(_yaml_files(folder, depth * "*/" + "*") for depth in range(3)):
        raise UserError(f"{FLAG}: {folder} has no options: they are its files GROUP/NAME.yaml, such as task/mine.yaml")
    if problems := list(_folder_problems(folder)):
        raise UserError("\n".join(problems))
    for group in GROUPS:
        for file in folder.glob(f"{group}/*.yaml"):
            option_content(group, file.stem)


def _folder_problems(folder: Path) -> Iterator[str]:
    for file in _yaml_files(folder, "*"):
        yield f"{file}: a file of options stands in the folder of its group: {', '.join(GROUPS)}"
    for group in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        files = _yaml_files(group, "**/*" if group.name in (*GROUPS, "hydra") else "*")
        if files and group.name not in GROUPS:
            yield f"{group}: {unknown_name('group', group.name, GROUPS)}; a schedule belongs to a task"
        elif files:
            yield from (f"{file}: {problem}" for file in files for problem in _file_problems(group, file))


def _yaml_files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.suffix in (".yaml", ".yml") and path.is_file())


def _file_problems(folder: Path, file: Path) -> list[str]:
    group, name = folder.name, file.stem
    if file.suffix != ".yaml" or file.parent != folder or not re.fullmatch(r"[A-Za-z][\w-]*", name):
        return [f"call it {group}/NAME.yaml, with letters, digits, - and _ in its name"]
    if (conf_folder() / group / file.name).exists():
        return [f"{group}={name} is a shipped option; choose another name"]
    try:
        text = file.read_text(encoding="utf-8")
        package = ConfigSource._get_header_dict(text)["package"]  # as Hydra will read it
        content = OmegaConf.to_container(OmegaConf.create(text)) if text.strip() else {}
    except (OSError, ValueError, yaml.YAMLError, OmegaConfBaseException) as error:
        return [f"cannot be read as YAML: {' '.join(str(error).split())}"]
    if not isinstance(content, dict):
        return ["holds no KEY: VALUE"]
    return file_problems(content) or [
        *_package_problems(group, package),
        *_default_problems(group, content.pop("defaults", [])),
        *_hydra_problems(group, content.pop("hydra", {})),
        *_key_problems(SCHEMAS[group], content),
        *_name_problems(group, name, content),
    ]


def _package_problems(group: str, package: str | None) -> list[str]:
    expected = "_global_" if group in _GLOBAL else None
    if package == expected:
        return []
    return [f"begin it with the line '# @package {expected}'" if expected else f"leave out '# @package {package}'"]


def _default_problems(group: str, defaults: Any) -> Iterator[str]:
    """Each entry names an option of the same group to inherit from, or chooses one of another group."""
    for entry in defaults if isinstance(defaults, list) else [defaults]:
        pairs = entry.items() if isinstance(entry, dict) else [(entry, entry)]
        for left, name in pairs:
            match = _CHOICE.fullmatch(str(left)) if isinstance(entry, dict) else _PARENT.fullmatch(str(left))
            chosen = match["group"] if match and isinstance(entry, dict) else group
            if match is None or chosen not in _CHOSEN:
                yield f"defaults: cannot use '{left}'; inherit by NAME of {group}, choose by override /GROUP: NAME"
            elif name not in ("_self_", *(known := [file.stem for file in option_files(chosen)])):
                yield f"defaults: {unknown_name(chosen, name, known)}"


def _hydra_problems(group: str, settings: Any) -> Iterator[str]:
    for name, value in leaves(settings).items():
        parameter = name.removeprefix("launcher.parameters.")
        if group == "experiment" and parameter != name:
            yield from (f"hydra.launcher.{problem}" for problem in parameter_problems({parameter: value}))
        elif group != "experiment" or not _HYDRA_KEY.fullmatch(name):
            yield f"hydra.{name} cannot be set in a file of options"


def _key_problems(root: type, content: dict[Any, Any]) -> Iterator[str]:
    for name, value in leaves(content).items():
        nested: Any = value
        for part in reversed(name.split(".")):
            nested = {part: nested}
        try:
            OmegaConf.merge(OmegaConf.structured(root), nested)
        except ConfigKeyError:
            second = name.split(".")[1:2] or ["NAME"]
            known = [key.name.replace("*", second[0]) for key in schema.keys(root)]
            near = difflib.get_close_matches(name, known, n=1)
            yield f"unknown key '{name}'" + (f": did you mean {near[0]}?" if near else "")
        except OmegaConfBaseException:
            key = schema.find(root, name)
            yield f"{name}={value}: must be {key.words}" if key else f"{name} is a group of keys"


def _name_problems(group: str, name: str, content: dict[Any, Any]) -> list[str]:
    if group == "experiment":
        return []
    owner = content.get("ablation", {}) if group == "ablation" else content
    given = owner.get("name") if isinstance(owner, dict) else None
    key = "ablation.name" if group == "ablation" else "name"
    return [] if given == name else [f"{key} is {given}; set it to {name}, as the file is called"]
