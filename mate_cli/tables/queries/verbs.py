"""Columns of people, or firms, that a verb names: who owns a bicycle, the films directed by someone."""

from __future__ import annotations

from mate_cli.tables.queries.agents import VERBS, Verb
from mate_cli.tables.queries.headers import head_of, singular
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn

OF_THINGS = (
    *("owner", "operator", "manager", "mechanic", "inspector", "supplier", "designer", "editor", "organizer"),
    *("customer", "client", "buyer", "tenant", "borrower"),
)
"""Headers of people for whom a table of things may have a column."""

OF_PERSONS = ("manager", "coach", "trainer", "teacher")
"""Headers of people for whom a table of people may have one."""


def verb_of(column: TypedColumn) -> Verb | None:
    """Return the verb that names a column of texts; None if none does, or it may name another column of the table."""
    named = VERBS.get(singular(head_of(column.name)))
    others = (VERBS.get(singular(head_of(other))) for other in column.others)
    return named if column.kind is ColumnType.TEXT and named not in others else None
