"""Find the places that a command is to write to and cannot, before it begins work that would be lost."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mate_cli.tables.table_place import table_place


def blocked_outputs(config: Any, unset: Collection[str] = ()) -> list[str]:
    """A line for each path to write that cannot be written, or that would take the place of what is read.

    The metadata ``writes`` of a key says what its value names, "file" or "folder". Addresses with "://" are left to
    what opens them.

    Args:
        unset: keys that have no value yet.
    """
    fields = {item.name: item for item in dataclasses.fields(config) if item.name not in unset}
    files = [name for name, item in fields.items() if item.metadata.get("reads") in ("file", "table")]
    read = {name: getattr(config, name) for name in files}
    lines: list[str] = []
    for name, item in fields.items():
        kind, value = item.metadata.get("writes"), getattr(config, name)
        if kind is None or not value or "://" in value:
            continue
        reason = _obstacle(Path(value), kind) or next(_overwritten(Path(value), read), None)
        lines += [] if reason is None else [f"{name}={value}: {reason}; name another {kind}"]
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


def _overwritten(path: Path, read: dict[str, Any]) -> Iterator[str]:
    for name, value in read.items():
        for file in value if isinstance(value, list) else [value]:
            place = table_place(file)[0] if file else ""
            if path.exists() and os.path.exists(place) and path.samefile(place):
                yield f"this is the file of {name}"
