"""mate: train, compare and reuse transformers that read large tables."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the entries for programs when they are first asked for: they need PyTorch."""
    if name in ("load_run", "open_folder"):
        return getattr(import_module("mate_cli.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
