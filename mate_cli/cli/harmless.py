"""Which words of a command line could run code or read what is not theirs; they are refused.

Overrides come from scripts, sweeps and other people's notes. They choose among our options and set values; they name no
code, add no folder of configurations, and read neither the environment nor files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hydra.core.override_parser.types import Override, QuotedString

from mate_cli.config import schema
from mate_cli.config.commands import ROOTS

HYDRA_GROUPS = ("hydra/launcher", "hydra/sweeper")

_HYDRA_KEYS = ("hydra.launcher.", "hydra.sweeper.", "hydra.sweep.dir")
# What Lightning says to the further processes of a training, which it starts with our words.
_OF_LIGHTNING = re.compile(r'hydra\.(run\.dir="[^"/]*"|output_subdir=null|job\.name=\w+)')
# ${NAME:...}, also where NAME is made by another interpolation; \\${ means itself.
_RESOLVER = re.compile(r"(?<!\\)(?:\\\\)*\$\{.*:", re.DOTALL)
_NAMES_CODE = re.compile(r"_[a-z]+_")


def code_problem(command: str, override: Override) -> str | None:
    """A line where an override is one of those.

    Args:
        override: parsed; the values of text keys are quoted, so that they mean themselves.
    """
    name, text = override.get_key_element().lstrip("+~"), override.input_line
    if _OF_LIGHTNING.fullmatch(str(text)):
        return None
    if name.startswith("hydra") and name not in HYDRA_GROUPS and not name.startswith(_HYDRA_KEYS):
        return f"cannot set '{text}': of Hydra's keys only hydra.launcher.KEY, hydra.sweeper.KEY and hydra.sweep.dir"
    values = list(override.sweep_iterator()) if override.is_sweep_override() else [override.value()]
    if any(_NAMES_CODE.fullmatch(part) for part in _keys(values)) or (
        name.startswith("hydra") and any(_NAMES_CODE.fullmatch(part) for part in name.split("."))
    ):
        return f"cannot set '{text}': a key like _target_ names code to run"
    key = schema.find(ROOTS[command], name)
    if not (key is not None and key.text) and any(_RESOLVER.search(own) for own in _texts(values)):
        return f"cannot set '{text}': ${{NAME:...}} reads the environment or runs code; write the value itself"
    return None


def file_problems(content: Any) -> list[str]:
    """Return a line for each way in which the content of a YAML file could run code or read the environment."""
    named = dict.fromkeys(name for name in _keys(content) if _NAMES_CODE.fullmatch(name))
    read = dict.fromkeys(text for text in _texts(content) if _RESOLVER.search(text))
    return [
        *(f"the key '{name}' names code to run; leave it out" for name in named),
        *(f"'{text}': ${{NAME:...}} reads the environment or runs code; write the value itself" for text in read),
    ]


def _keys(value: Any) -> Iterator[str]:
    """The keys of all dictionaries in a value."""
    if isinstance(value, dict):
        yield from map(str, value)
    for own in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(own)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, keys too."""
    if isinstance(value, dict):
        yield from map(str, value)
    for own in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(own)
    if isinstance(value, QuotedString | str):
        yield value.text if isinstance(value, QuotedString) else value
