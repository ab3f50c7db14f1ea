"""The name under which `mate` is installed, and how to install an optional part of it."""

from __future__ import annotations

NAME = "mate-tables"
"""Name of the distribution. The package index has a `mate-cli` that is somebody else's."""


def install_command(extra: str) -> str:
    """The command that adds an extra, to be typed in a clone of the project: it is not on the package index yet."""
    return f"pip install '.[{extra}]' in a clone of mate"
