"""Folders: those of the shipped YAML files, and those that are written to, a group of keys of most commands."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mate_cli.config.rules import key


def conf_folder() -> Path:
    return shipped_folder("conf")


def shipped_folder(name: str) -> Path:
    """A folder of shipped YAML files: inside the package (wheel) or beside it (checkout)."""
    package = Path(__file__).resolve().parents[1]
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


@dataclass
class PathsConfig:
    """Folders that runs and prepared data are written to."""

    runs: str = key("./runs", "folder that holds the run folders", text=True)
    cache: str | None = key(
        None,
        "folder for prepared data; null: $MATE_CACHE, else ~/.cache/mate, where the compiled attention always is:"
        " programs without a configuration use it too",
        text=True,
    )

    def problems(self) -> list[str]:
        """Folders are of a file system: runs are renamed into place, caches are mapped into memory."""
        named = {"runs": self.runs, "cache": self.cache}
        return [
            f"{name}={value} is an address, not a folder; mount the bucket and name the mount (docs/tpu.md)"
            for name, value in named.items()
            if value is not None and "://" in value
        ]


def expand_home(config: Any) -> Any:
    """Expand ``~`` in the paths of a configuration, which it returns, and of its groups: each that is read or written.

    So what checks a path and what uses it mean the same place.
    """
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if dataclasses.is_dataclass(value):
            expand_home(value)
        elif isinstance(config, PathsConfig) or item.metadata.get("reads") or item.metadata.get("writes"):
            setattr(config, item.name, _expanded(value))
    return config


def _expanded(value: str | list[str] | None) -> str | list[str] | None:
    if isinstance(value, list):
        return [os.path.expanduser(path) for path in value]
    return None if value is None else os.path.expanduser(value)


def cache_folder(paths: PathsConfig) -> Path:
    """Folder for prepared data: ``paths.cache``, else ``$MATE_CACHE``, else ``~/.cache/mate``."""
    return Path(paths.cache or os.environ.get("MATE_CACHE") or "~/.cache/mate").expanduser()
