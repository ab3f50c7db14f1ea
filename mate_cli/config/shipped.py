"""Folders of YAML files that ship with the package."""

from __future__ import annotations

from pathlib import Path


def conf_folder() -> Path:
    return shipped_folder("conf")


def shipped_folder(name: str) -> Path:
    """A folder of shipped YAML files: inside the package (wheel) or beside it (checkout)."""
    package = Path(__file__).resolve().parents[1]
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
