"""Provenance of results: command line, code, versions, machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mate_cli.system.distribution import NAME, version_of
from mate_cli.system.processor import processor_name

_CHECKOUT = Path(__file__).resolve().parents[2]
_CODE = ("conf", "hydra_plugins", "mate_cli")
_PACKAGES = (NAME, "torch", "pytorch-lightning", "transformers", "tokenizers", "datasets", "scikit-learn", "numpy")


def environment(command: list[str]) -> dict[str, Any]:
    """Record the command line, git commit, versions and machine.

    Args:
        command: ``sys.argv``; the path of the program is not kept.
    """
    return {
        "command": ["mate", *command[1:]],
        "git": _git_state(),
        "python": sys.version.split()[0],
        "packages": {name: version_of(name) for name in _PACKAGES},
        "machine": {"system": platform.platform(), "cpu": processor_name()},
        "cpu_count": os.cpu_count(),
    }


def code_version(environment: Mapping[str, Any]) -> str:
    """The code of a record of ``environment``: the commit, with + if modified, or else the release."""
    git = environment.get("git")
    if git:
        return str(git["commit"])[:10] + ("+" if git["dirty"] else "")
    return f"mate {release(environment)}"


def release(environment: Mapping[str, Any]) -> str | None:
    """The version of mate in a record of ``environment``; None if it has none."""
    packages = environment.get("packages", {})  # an export has no records
    version: str | None = packages.get(NAME) or packages.get("mate-cli")  # the former name, in older records
    return version


def _git_state(checkout: Path = _CHECKOUT) -> dict[str, Any] | None:
    """The last commit that changed code, and whether code was modified since; None outside a checkout.

    New results in the checkout do not change the code.
    """
    if not (checkout / ".git").exists():
        return None
    try:
        commit = _git(checkout, "log", "-1", "--format=%H", "--", *_CODE)
        return {"commit": commit, "dirty": bool(_git(checkout, "status", "--porcelain", "--", *_CODE))}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    # A kill would leave an optional lock in the user's checkout.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
