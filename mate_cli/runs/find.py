"""Find run folders, without reading them; imports nothing else of the package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# A folder with one of these is a run folder; the folders of a pipeline's answers have neither.
_MARKS = ("config.yaml", "status.json")


def run_folders(folder: Path) -> Iterator[Path]:
    """Every run folder below ``folder``, in order, but none inside another or behind a link."""
    for root, names, files in os.walk(folder):
        if any(mark in files for mark in _MARKS):
            yield Path(root)
            names.clear()
        names.sort()


def is_run_folder(path: Path) -> bool:
    return any((path / mark).is_file() for mark in _MARKS)
