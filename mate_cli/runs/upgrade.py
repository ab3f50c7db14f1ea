"""Bring the configurations of earlier versions up to date."""

from __future__ import annotations

from typing import Any

_RENAMED = {"task": {"reader": "format"}}
"""Group -> old key -> today's key."""


def upgraded(plain: Any) -> Any:
    """Return what was read from a ``config.yaml`` with today's names of its keys; all else, and the order, as it is."""
    if not isinstance(plain, dict):
        return plain
    return {
        name: {_RENAMED[name].get(key, key): value for key, value in group.items()}
        if name in _RENAMED and isinstance(group, dict)
        else group
        for name, group in plain.items()
    }
