"""The name under which `mate` is installed, versions of packages, packages of weights, and how to install parts."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from mate_cli.system.errors import UserError

NAME = "mate-tables"
"""Name of the distribution. The package index has a `mate-cli` that is somebody else's."""

RELEASED = "mate_tables_weights"
"""Package of the released model."""

QUESTIONS, STATEMENTS = "model", "statements"
"""Its folders: the model that answers questions, and the one that judges statements."""

INSTALL_RELEASED = "pip install ./weights in a clone of mate"


def version_of(package: str) -> str | None:
    """Return the installed version of a distribution; None if there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def install_command(extra: str) -> str:
    """Return the command that adds an extra, typed in a clone of the project: it is not on the package index yet."""
    return f"pip install '.[{extra}]' in a clone of mate"


def released_model() -> str:
    """Return name and version of the released model that is installed."""
    name = RELEASED.replace("_", "-")
    return f"{name} {version_of(name) or ''}".strip()


def package_folder(package: str, part: str = QUESTIONS) -> Path:
    """Return a folder of weights and vocabulary in an installed package, without importing it.

    Raises:
        UserError: the package is not installed, or is an older one without that part.
    """
    folder = installed_folder(package, part)
    if folder is None:
        install = INSTALL_RELEASED if package == RELEASED else install_command("minilm")
        raise UserError(f"the package {package} is not installed; install it with: {install}")
    if not folder.is_dir():
        raise UserError(f"{released_model()} has no {part}; install a newer one: {INSTALL_RELEASED}")
    return folder


def installed_folder(package: str, part: str = QUESTIONS) -> Path | None:
    """Return where an installed package has a part, which an older one may lack; None if it is not installed."""
    spec = find_spec(package) if package else None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / part
