"""What the values of a typed configuration must satisfy: names, ranges, and keys that belong together."""

from __future__ import annotations

import dataclasses
import difflib
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_LIMITS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "low": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "high": ("at most", operator.le),
    "below": ("below", operator.lt),
}
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
    writes: str | None = None,
) -> Any:
    """A configuration key: default, meaning, and what is allowed.

    ``choices`` lists the names; ``low``/``high`` are inclusive limits, ``above``/``below`` exclusive ones;
    ``text`` marks free text and paths, whose value on the command line is taken literally. The limits of a
    list are those of its items. ``reads`` says what must exist under a path before a command starts: "file",
    "table" for a file whose part may be named (``FILE#PART``), "folder", "run" for a run folder, or "listed run" for
    one that may be named as ``mate runs`` lists it (``mate_cli.cli.inputs``). ``writes`` says what a command makes at a
    path: "file" or "folder" (``mate_cli.cli.outputs``).
    """
    limits = {"choices": choices, "low": low, "above": above, "high": high, "below": below}
    meaning = {name: limit for name, limit in limits.items() if limit is not None}
    metadata = {"doc": doc, "text": text, "reads": reads, "writes": writes, **meaning}
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
    lines: list[str] = []
    for item in dataclasses.fields(config):
        if "doc" in item.metadata:
            lines += _limit_problems(prefix + item.name, getattr(config, item.name), item.metadata)
    if hasattr(config, "problems"):
        lines += [prefix + problem for problem in config.problems()]
    for name, nested in _groups(config):
        lines += problems(nested, f"{prefix}{name}.")
    return lines


def _given(config: Any, ways: Ways) -> tuple[str, ...]:
    return tuple(name for way in ways for name in way if getattr(config, name) is not None)


def _either(ways: Ways) -> str:
    return "write " + ", or ".join(" and ".join(f"{name}=..." for name in way) for way in ways)


def _groups(config: Any) -> Iterator[tuple[str, Any]]:
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if dataclasses.is_dataclass(value):
            yield item.name, value
        elif isinstance(value, dict):
            nested = value.items()
            yield from ((f"{item.name}.{name}", group) for name, group in nested if dataclasses.is_dataclass(group))


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
    for limit, (words, holds) in _LIMITS.items():
        if limit in limits and not holds(value, limits[limit]):
            yield f"{name}={value}: must be {words} {limits[limit]}"
    if isinstance(value, float) and value == float("inf"):
        yield f"{name}={value}: must be finite"
    if limits.get("text") and value == "":
        yield f"{name} is empty"
    if limits.get("text") and _CREDENTIALS.match(value):
        yield f"{name} holds a password or a key, which records would keep: leave it to the settings of the library"
