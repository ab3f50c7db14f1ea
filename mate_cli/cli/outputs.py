"""Find the places that a command is to write to and cannot, before it begins work that would be lost."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mate_cli.cli.inputs import named_paths
from mate_cli.tables.table_place import table_place


def blocked_outputs(config: Any, unset: Collection[str] = ()) -> list[str]:
    """A line for each path to write that cannot be written, or that would take the place of what is read.

    The metadata ``writes`` of a key says what its value names, "file" or "folder". Addresses with "://" are left to
    what opens them.

    Args:
        unset: keys that have no value yet.
    """
    given = [item for item in named_paths(config, "reads") if item[0] not in unset]
    read = {table_place(path)[0]: name for name, path, kind in given if kind in ("file", "table")}
    lines: list[str] = []
    for name, path, kind in named_paths(config, "writes"):
        if name in unset or "://" in path:
            continue
        reason = _obstacle(Path(path), kind) or _overwritten(Path(path), read)
        lines += [] if reason is None else [f"{name}={path}: {reason}; name another {kind}"]
    return lines


def _obstacle(path: Path, kind: str) -> str | None:
    """Say why nothing can be written there, by the nearest place above it that exists."""
    try:
        if path.exists() and path.is_dir() != (kind == "folder"):
            return "this is a folder" if path.is_dir() else "this is a file"
        nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
        if nearest != path and not nearest.is_dir():
            return f"{nearest} is a file, not a folder"
        return None if os.access(nearest, os.W_OK) else f"{nearest} cannot be written to"
    except (OSError, ValueError) as error:  # a name too long, a NUL byte, a folder that may not be looked into
        return getattr(error, "strerror", None) or str(error)


def _overwritten(path: Path, read: Mapping[str, str]) -> str | None:
    """Say what of the files to read, by their keys, lies at the path."""
    for place, name in read.items() if path.exists() else ():
        if os.path.exists(place) and path.samefile(place):
            return f"this is the file of {name}"
    return None
