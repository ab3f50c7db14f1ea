"""The place of a user's table: ``FILE``, or ``FILE#PART``, a sheet of a workbook, a table or query of a database."""

from __future__ import annotations

import os


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
