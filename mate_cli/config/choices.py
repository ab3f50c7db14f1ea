"""Names to choose from are listed once, in ``mate_cli.config``; what they stand for is checked against that list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

Thing = TypeVar("Thing")


def one_for_each(names: Iterable[str], table: Mapping[str, Thing]) -> dict[str, Thing]:
    """Return a table in the order of ``names``, with an entry for each of them and no other.

    Raises:
        ValueError: a name has no entry, or an entry is not among the names.
    """
    listed = list(names)
    if set(listed) != set(table):
        missing, unknown = sorted(set(listed) - set(table)), sorted(set(table) - set(listed))
        raise ValueError(f"without an entry: {missing or 'none'}; not in the list: {unknown or 'none'}")
    return {name: table[name] for name in listed}
