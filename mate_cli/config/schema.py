"""The keys of a command's configuration, read from its dataclass: names, types, meanings."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from omegaconf import MISSING

TYPE_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
LIST_WORDS = {int: "whole numbers", float: "numbers", str: "names"}


@dataclass(frozen=True)
class Key:
    """One key: full name (``*`` stands for any name), type, default, and the metadata of ``config.key``.

    ``type`` is that of the items where ``is_list``.
    """

    name: str
    type: type
    is_list: bool
    optional: bool
    default: Any
    meaning: Any

    @property
    def text(self) -> bool:
        """True if the value on the command line is free text."""
        return bool(self.meaning["text"])

    @property
    def required(self) -> bool:
        """True if the user or a group's option must give the value."""
        return bool(self.default == MISSING)

    @property
    def words(self) -> str:
        """The allowed values in words."""
        or_null = " or null" if self.optional else ""
        choices = self.meaning.get("choices")
        if self.is_list:
            return "a list [A,B] of " + (", ".join(choices) if choices else LIST_WORDS[self.type]) + or_null
        if choices:
            return "one of " + ", ".join(choices)
        return TYPE_WORDS[self.type] + or_null


def keys(root: type, prefix: str = "") -> Iterator[Key]:
    """Every key below a configuration dataclass, in the order of the source."""
    hints = typing.get_type_hints(root)
    for item in dataclasses.fields(root):
        (kind, optional), name = _without_none(hints[item.name]), prefix + item.name
        if dataclasses.is_dataclass(kind):
            yield from keys(kind, name + ".")
        elif typing.get_origin(kind) is dict and dataclasses.is_dataclass(typing.get_args(kind)[1]):
            yield from keys(typing.get_args(kind)[1], name + ".*.")
        elif typing.get_origin(kind) is not dict:  # one of free content has no keys to name
            is_list = typing.get_origin(kind) is list
            default = item.default if item.default_factory is dataclasses.MISSING else item.default_factory()
            kind = typing.get_args(kind)[0] if is_list else kind
            yield Key(name, kind, is_list, optional, default, item.metadata)


def groups(root: type) -> list[str]:
    """Names of the keys that hold a group of keys, at the top level."""
    hints = typing.get_type_hints(root)
    kinds = {item.name: _without_none(hints[item.name])[0] for item in dataclasses.fields(root)}
    return [name for name, kind in kinds.items() if dataclasses.is_dataclass(kind)]


def find(root: type, name: str) -> Key | None:
    """The key of that full name, or None."""
    parts = name.split(".")
    for candidate in keys(root):
        pattern = candidate.name.split(".")
        same = all(want in ("*", part) for want, part in zip(pattern, parts, strict=False))
        if same and len(pattern) == len(parts):
            return candidate
    return None


def _without_none(hint: Any) -> tuple[type, bool]:
    if not isinstance(hint, types.UnionType):
        return hint, False
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    return kinds[0], True
