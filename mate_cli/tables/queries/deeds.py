"""Columns of people, or firms, that a verb names: who owns a bicycle, the films directed by someone."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.tables.queries.headers import head_of, singular
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn


@dataclass(frozen=True, slots=True)
class Deed:
    """A verb: who ``does`` it, and what is ``done`` by them."""

    does: str
    done: str


_DEEDS = {
    "director": Deed("directed", "directed"),
    "writer": Deed("wrote", "written"),
    "author": Deed("wrote", "written"),
    "composer": Deed("composed", "composed"),
    "producer": Deed("produced", "produced"),
    "publisher": Deed("published", "published"),
    "editor": Deed("edits", "edited"),
    "architect": Deed("designed", "designed"),
    "designer": Deed("designed", "designed"),
    "builder": Deed("built", "built"),
    "manufacturer": Deed("makes", "made"),
    "maker": Deed("makes", "made"),
    "supplier": Deed("supplies", "supplied"),
    "founder": Deed("founded", "founded"),
    "owner": Deed("owns", "owned"),
    "operator": Deed("operates", "operated"),
    "manager": Deed("manages", "managed"),
    "coach": Deed("coaches", "coached"),
    "trainer": Deed("trains", "trained"),
    "captain": Deed("captains", "captained"),
    "driver": Deed("drives", "driven"),
    "mechanic": Deed("repairs", "repaired"),
    "inspector": Deed("inspects", "inspected"),
    "teacher": Deed("teaches", "taught"),
    "lecturer": Deed("teaches", "taught"),
    "host": Deed("hosts", "hosted"),
    "presenter": Deed("presents", "presented"),
    "organizer": Deed("organizes", "organized"),
    "sponsor": Deed("sponsors", "sponsored"),
    "winner": Deed("won", "won"),
    "champion": Deed("won", "won"),
}

OF_THINGS = ("owner", "operator", "manager", "mechanic", "inspector", "supplier", "designer", "editor", "organizer")
"""Headers of people for whom a table of things may have a column."""

OF_PERSONS = ("manager", "coach", "trainer", "teacher")
"""Headers of people for whom a table of people may have one."""


def deed(column: TypedColumn) -> Deed | None:
    """Return the verb that names a column of texts; None if none does, or it may name another column of the table."""
    named = _DEEDS.get(singular(head_of(column.name)))
    others = (_DEEDS.get(singular(head_of(other))) for other in column.others)
    return named if column.kind is ColumnType.TEXT and named not in others else None
