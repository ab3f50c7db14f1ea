"""Columns of people, or firms, that a verb names: who owns a bicycle, the films directed by someone."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.tables.queries.headers import head_of, singular
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn


@dataclass(frozen=True, slots=True)
class Verb:
    """What somebody does with a thing: "Ann owns it" (active), "it is owned by Ann" (participle)."""

    active: str
    participle: str


_VERBS = {
    "director": Verb("directed", "directed"),
    "writer": Verb("wrote", "written"),
    "author": Verb("wrote", "written"),
    "composer": Verb("composed", "composed"),
    "producer": Verb("produced", "produced"),
    "publisher": Verb("published", "published"),
    "editor": Verb("edits", "edited"),
    "architect": Verb("designed", "designed"),
    "designer": Verb("designed", "designed"),
    "builder": Verb("built", "built"),
    "manufacturer": Verb("makes", "made"),
    "maker": Verb("makes", "made"),
    "supplier": Verb("supplies", "supplied"),
    "founder": Verb("founded", "founded"),
    "owner": Verb("owns", "owned"),
    "operator": Verb("operates", "operated"),
    "manager": Verb("manages", "managed"),
    "coach": Verb("coaches", "coached"),
    "trainer": Verb("trains", "trained"),
    "captain": Verb("captains", "captained"),
    "driver": Verb("drives", "driven"),
    "mechanic": Verb("repairs", "repaired"),
    "inspector": Verb("inspects", "inspected"),
    "teacher": Verb("teaches", "taught"),
    "lecturer": Verb("teaches", "taught"),
    "host": Verb("hosts", "hosted"),
    "presenter": Verb("presents", "presented"),
    "organizer": Verb("organizes", "organized"),
    "sponsor": Verb("sponsors", "sponsored"),
    "winner": Verb("won", "won"),
    "champion": Verb("won", "won"),
}

OF_THINGS = ("owner", "operator", "manager", "mechanic", "inspector", "supplier", "designer", "editor", "organizer")
"""Headers of people for whom a table of things may have a column."""

OF_PERSONS = ("manager", "coach", "trainer", "teacher")
"""Headers of people for whom a table of people may have one."""


def verb_of(column: TypedColumn) -> Verb | None:
    """Return the verb that names a column of texts; None if none does, or it may name another column of the table."""
    named = _VERBS.get(singular(head_of(column.name)))
    others = (_VERBS.get(singular(head_of(other))) for other in column.others)
    return named if column.kind is ColumnType.TEXT and named not in others else None
