"""Refuse what could run code or read the environment, in a word of a command line and in a file of options.

Both may come from elsewhere: from scripts, sweeps and other people's notes. They choose options and set values; they
name no code and read no environment, and of Hydra's keys they set those of launchers and sweepers alone. Of submitit's
parameters only resources can be set (``config.sweep``); launchers of other packages take what those packages say.
"""

from __future__ import annotations

import re
from typing import Any

from mate_cli.config.plain import leaves

_HYDRA_NAMES = re.compile(r"hydra(/(launcher|sweeper)|\.(launcher|sweeper)\..+|\.sweep\.dir)")
_SWEEPS_HYDRA = re.compile(r"hydra\.sweeper\.params\.\W*hydra")
# What Lightning says to the further processes of a training, which it starts with our words.
_OF_LIGHTNING = re.compile(r'hydra\.(run\.dir="[^"/]*"|output_subdir=null|job\.name=\w+)')
# ${NAME:...}, also where NAME is made by another interpolation; \\${ means itself.
_RESOLVER = re.compile(r"(?<!\\)(?:\\\\)*\$\{.*:", re.DOTALL)
_IN_HYDRA = re.compile(r"\$\{.*:", re.DOTALL)  # even \\${, for Hydra resolves the keys of its own more than once
_NAMES_CODE = re.compile(r"_[a-z]+_")


def word_problems(word: str, name: str, values: list[Any]) -> list[str]:
    """Return a line for each way in which an override could run code or read the environment.

    Args:
        word: the override as typed; name: its key or group; values: those that it gives, of a sweep all of them.
    """
    if name.startswith("hydra"):
        swept = any(_SWEEPS_HYDRA.match(key) for value in values for key in leaves(value, name))
        if swept or not (_HYDRA_NAMES.fullmatch(name) or _OF_LIGHTNING.fullmatch(word)):
            return ["of Hydra's keys only hydra.launcher.KEY, hydra.sweeper.KEY and hydra.sweep.dir"]
        if _IN_HYDRA.search(word):
            return [_reads(word.partition("=")[2])]
    return file_problems(dict.fromkeys(name.split("."), values))


def file_problems(content: Any) -> list[str]:
    """Return a line for each way in which the content of a YAML file could run code or read the environment."""
    if isinstance(content, dict):
        named = [name for name in content if _NAMES_CODE.fullmatch(str(name))]
        lines = [f"the key '{name}' names code to run; leave it out" for name in named]
        return lines + file_problems([*content, *content.values()])
    if isinstance(content, list):
        return list(dict.fromkeys(line for part in content for line in file_problems(part)))
    if isinstance(content, str) and _RESOLVER.search(content):
        return [_reads(content)]
    return []


def _reads(text: str) -> str:
    return f"'{text}' reads the environment or runs code; write the value itself"
