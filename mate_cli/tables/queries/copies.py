"""Copies of tables that differ in a column, so that questions have what tables of Wikipedia seldom have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from mate_cli.tables.table import Table


def with_copies(
    tables: Sequence[Table], seed: int, what: str, copied: Callable[[Table, Random], Table | None], share: float
) -> Iterator[Table]:
    """Yield each table; after a share of them, drawn at random, yield the copy that ``copied`` makes, if it makes one.

    Args:
        what: name of these draws, so that those of other copies of a table differ.
    """
    for table in tables:
        yield table
        random = Random(f"{seed} {what} of {table.id}")
        if random.random() < share and (copy := copied(table, random)) is not None:
            yield copy
