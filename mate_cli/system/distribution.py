"""The name under which `mate` is installed, versions of packages, and how to install an optional part of mate."""

from __future__ import annotations

from importlib import metadata

NAME = "mate-tables"
"""Name of the distribution. The package index has a `mate-cli` that is somebody else's."""


def version_of(package: str) -> str | None:
    """Return the installed version of a distribution; None if there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def install_command(extra: str) -> str:
    """Return the command that adds an extra, typed in a clone of the project: it is not on the package index yet."""
    return f"pip install '.[{extra}]' in a clone of mate"
