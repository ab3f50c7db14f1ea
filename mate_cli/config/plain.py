"""Typed configurations as plain dictionaries, and text that OmegaConf must not interpolate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any


def to_plain(config: Any) -> dict[str, Any]:
    """The configuration as plain dictionaries and scalars, ready for YAML, JSON and checkpoints."""
    return asdict(config)


def leaves(record: Any, prefix: str = "") -> dict[str, Any]:
    """Every value of nested mappings by its keys joined by dots."""
    if not isinstance(record, Mapping):
        return {prefix: record}
    values: dict[str, Any] = {}
    for name, value in record.items():
        values |= leaves(value, f"{prefix}.{name}" if prefix else str(name))
    return values


def escape(text: str) -> str:
    """Text for a configuration value that means itself: OmegaConf reads no ``${...}`` out of it."""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
