"""The place of a user's table: ``FILE``, or ``FILE#PART``, a sheet of a workbook, a table or query of a database."""

from __future__ import annotations

import os
from pathlib import Path

COMPRESSIONS = (".gz", ".bz2", ".xz")
"""What the names of compressed files end in."""


def table_place(text: str, folder: str | os.PathLike[str] = "") -> tuple[str, str | None]:
    """Return the file, with ``~`` for the home folder resolved, and the part; a file with that very name has none.

    Nothing after the ``#`` names no part either.

    Args:
        folder: that the file is named from.
    """
    file, _, part = text.partition("#")
    if os.path.exists(os.path.join(folder, os.path.expanduser(text))):
        return os.path.expanduser(text), None
    return os.path.expanduser(file), part or None


def plain_path(path: Path) -> Path:
    """Return the path without the ending of a compression."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
