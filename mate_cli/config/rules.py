"""What the values of a typed configuration must satisfy: names, ranges, and keys that belong together."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any

_CREDENTIALS = re.compile(r"[\w+.-]+://[^/\s]*@")


def key(
    default: Any,
    doc: str,
    *,
    choices: tuple[str, ...] | None = None,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    text: bool = False,
    reads: str | None = None,
) -> Any:
    """A configuration key: default, meaning, and what is allowed.

    ``choices`` lists the names; ``low``/``high`` are inclusive limits, ``above``/``below`` exclusive ones;
    ``text`` marks free text and paths, whose value on the command line is taken literally. The limits of a
    list are those of its items. ``reads`` says what must exist under a path before a command starts: "file",
    "folder", "run" for a run folder, or "listed run" for one that may be named as ``mate runs`` lists it
    (``mate_cli.cli.inputs``).
    """
    limits = {"choices": choices, "low": low, "above": above, "high": high, "below": below}
    meaning = {name: limit for name, limit in limits.items() if limit is not None}
    metadata = {"doc": doc, "text": text, "reads": reads, **meaning}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def unknown_name(what: str, name: object, choices: Iterable[str]) -> str:
    """One line for a name that does not exist: the nearest one that does, and all choices."""
    names = list(choices)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown {what} '{name}': {hint}choose from {', '.join(names)}"


Ways = tuple[tuple[str, ...], ...]
"""Ways to say the same thing, each by the keys it needs; all these keys are null unless given."""


def none_given(config: Any, ways: Ways) -> list[str]:
    """A line where no key of any way is given."""
    return [] if _given(config, ways) else [f"{ways[0][0]} is missing: {_either(ways)}"]


def several_given(config: Any, ways: Ways) -> list[str]:
    """A line where the given keys are not those of exactly one way; ``none_given`` is for none at all."""
    given = _given(config, ways)
    return [f"{' and '.join(given)} given: {_either(ways)}"] if given and given not in ways else []


def problems(config: Any, prefix: str = "") -> list[str]:
    """Every mistake in the values of a configuration dataclass, one line each, with full key names.

    Checks the limits in each field's metadata, then what the class itself says in ``problems()``, then
    nested groups (also inside dictionaries).
    """
    found: list[str] = []
    for name, value, limits in _keys(config):
        found += _limit_problems(prefix + name, value, limits)
    if hasattr(config, "problems"):
        found += [prefix + problem for problem in config.problems()]
    for name, nested in _groups(config):
        found += problems(nested, f"{prefix}{name}.")
    return found


def _given(config: Any, ways: Ways) -> tuple[str, ...]:
    return tuple(name for way in ways for name in way if getattr(config, name) is not None)


def _either(ways: Ways) -> str:
    return "write " + ", or ".join(" and ".join(f"{name}=..." for name in way) for way in ways)


def _keys(config: Any) -> Iterator[tuple[str, Any, Any]]:
    for item in dataclasses.fields(config):
        if "doc" in item.metadata:
            yield item.name, getattr(config, item.name), item.metadata


def _groups(config: Any) -> Iterator[tuple[str, Any]]:
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if dataclasses.is_dataclass(value):
            yield item.name, value
        elif isinstance(value, dict):
            nested = [(f"{item.name}.{name}", own) for name, own in value.items()]
            yield from ((name, own) for name, own in nested if dataclasses.is_dataclass(own))


def _limit_problems(name: str, value: Any, limits: Any) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, list):
        if not value:
            yield f"{name} is empty"
        for item in value:
            yield from _limit_problems(name, item, limits)
        return
    if "choices" in limits and value not in limits["choices"]:
        yield unknown_name(name, value, limits["choices"])
    if "low" in limits and not value >= limits["low"]:
        yield f"{name}={value}: must be at least {limits['low']}"
    if "above" in limits and not value > limits["above"]:
        yield f"{name}={value}: must be above {limits['above']}"
    if "high" in limits and not value <= limits["high"]:
        yield f"{name}={value}: must be at most {limits['high']}"
    if "below" in limits and not value < limits["below"]:
        yield f"{name}={value}: must be below {limits['below']}"
    if isinstance(value, float) and value == float("inf"):
        yield f"{name}={value}: must be finite"
    if limits.get("text") and value == "":
        yield f"{name} is empty"
    if limits.get("text") and _CREDENTIALS.match(value):
        yield f"{name} holds a password or a key, which records would keep: leave it to the settings of the library"
