"""Find the files and folders that a configuration names and that do not exist, before anything heavy is imported."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mate_cli.config.evaluation import SELECTORS
from mate_cli.config.paths import cache_folder
from mate_cli.config.train import TrainConfig
from mate_cli.runs.find import is_run_folder, run_folders, what_else
from mate_cli.tables.table_place import table_place


def missing_inputs(config: Any, unset: Collection[str] = ()) -> list[str]:
    """A line for each path of a configuration that does not exist or is of the wrong kind.

    The metadata ``reads`` of a key says what its value, or each value of its list, must name. Addresses with "://"
    are left to what opens them; a dry run reads nothing.

    Args:
        config: with ``~`` expanded (``expand_home``), as commands get it.
        unset: keys that have no value yet.
    """
    if getattr(config, "dry_run", False):
        return []
    runs = Path(config.paths.runs) if hasattr(config, "paths") else Path("runs")
    named = named_paths(config, "reads")
    lines = [_problem(name, path, kind, runs) for name, path, kind in named if name not in unset and "://" not in path]
    if isinstance(config, TrainConfig):
        from mate_cli.tables.formats import data_problem  # imports the readers of all formats

        lines.append(data_problem(config.task, config.data_dir, cache_folder(config.paths)))
    return [line for line in lines if line is not None]


def nearest_run(path: str, runs: Path) -> str | None:
    """The run folder below ``runs`` whose path, or else whose name, is most like ``path``; None where none is."""
    folders = {str(folder): folder.name for folder in run_folders(runs)}
    near = difflib.get_close_matches(path, folders, n=1, cutoff=0.85)  # all share the first part
    if not near:
        names = difflib.get_close_matches(Path(path).name, folders.values(), n=1, cutoff=0.6)
        near = [folder for folder, name in folders.items() if name in names]
    return near[0] if near else None


def named_paths(group: Any, use: str, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """The name, the value and the kind of each path that is given, in the order of the keys.

    Args:
        use: the metadata that has the kind, "reads" or "writes".
    """
    for item in dataclasses.fields(group):
        value, kind = getattr(group, item.name), item.metadata.get(use)
        if dataclasses.is_dataclass(value):
            yield from named_paths(value, use, f"{prefix}{item.name}.")
        elif kind is not None and value:
            if getattr(group, "source", None) == "run":  # backbone.path
                kind = "run"
            yield from ((prefix + item.name, path, kind) for path in (value if isinstance(value, list) else [value]))


def _problem(name: str, path: str, kind: str, runs: Path) -> str | None:
    place = table_place(path)[0] if kind == "table" else path
    if kind in ("file", "table"):
        if os.path.isdir(place):
            more = f", or ask all its tables: mate predict tables={path}" if kind == "table" else ""
            return f"{name}={path}: this is a folder; name a file{more}"
        return None if os.path.exists(place) else f"{name}={path}: there is no such file"
    if kind == "folder":
        return None if os.path.isdir(place) else f"{name}={path}: there is no such folder"
    if (name == "selector" and path in SELECTORS) or _is_run(Path(place), kind, runs / path):
        return None
    near, other = nearest_run(path, runs), what_else(Path(place))
    if other and not near and kind == "run":
        return f"{name}={path}: {other}"
    hint = f"did you mean {near}?" if near else "mate runs lists those that exist, mate train makes one"
    reason = "is not a run folder: it has no config.yaml" if os.path.isdir(place) else "there is no such folder"
    return f"{name}={path}: {reason}; {hint}"


def _is_run(place: Path, kind: str, listed: Path) -> bool:
    """Look for a run, what ``mate evaluate selector=... reader=...`` or ``mate export`` wrote, or a published model."""
    try:
        if kind == "listed run" and is_run_folder(listed):
            return True
        return is_run_folder(place) or any((place / name).is_file() for name in ("pipeline.json", "config.json"))
    except (OSError, ValueError):  # a name too long, a NUL byte, a folder that may not be looked into
        return False
