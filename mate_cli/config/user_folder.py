"""A user's own options: ``--config-dir DIR`` or ``MATE_CONFIG_DIR``. A plugin in ``hydra_plugins`` tells Hydra.

The environment variable carries the folder to child processes: ranks of Lightning, jobs of a sweep or of a table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mate_cli.config.paths import conf_folder
from mate_cli.system.errors import UserError

FLAG, VARIABLE = "--config-dir", "MATE_CONFIG_DIR"

GROUPS = ("experiment", "task", "model", "backbone", "hardware", "ablation", "suite")
"""Groups to which a user can add options. The name of a logger, launcher or analysis stands for code of ours."""


def user_folder() -> Path | None:
    """The folder of the user's own options, if there is one."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def config_dir_flag() -> list[str]:
    """The flag that names the user's folder to another process of ours, if there is one."""
    folder = user_folder()
    return [] if folder is None else [f"{FLAG}={folder}"]


def option_files(group: str, name: str = "*") -> list[Path]:
    """The YAML files of a group, shipped and the user's own, by the names of the options."""
    folders = [conf_folder(), *([user_folder()] if group in GROUPS else [])]
    files = (file for folder in folders if folder is not None for file in (folder / group).glob(f"{name}.yaml"))
    return sorted(files, key=lambda file: file.stem)


def take_config_dir(words: list[str]) -> tuple[list[str], str | None]:
    """Separate ``--config-dir DIR`` from the other words of a command line; the last one counts.

    Raises:
        UserError: it names no folder.
    """
    others, folder, rest = [], None, iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if name != FLAG:
            others.append(word)
            continue
        folder = value or next(rest, None)
        if not folder:
            raise UserError(f"{FLAG} needs a folder, like {FLAG}=conf")
    return others, folder


@contextmanager
def config_dir(folder: str | None) -> Iterator[None]:
    """Export the absolute path of a folder of options, or else of the one in the environment, while this runs."""
    before = os.environ.get(VARIABLE)
    if folder or before:
        os.environ[VARIABLE] = str(Path(folder or str(before)).expanduser().absolute())
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
