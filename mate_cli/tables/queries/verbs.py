"""Columns of people, or firms, that a verb names: who owns a bicycle, the films directed by someone."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.tables.queries.headers import head_of, singular
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn


@dataclass(frozen=True, slots=True)
class Verb:
    """What somebody does with a thing: "what does Ann own" (base), "she owns" (active), "owned by her" (participle)."""

    base: str
    active: str
    participle: str

    @property
    def auxiliary(self) -> str:
        """Return the auxiliary of questions: "does" for what somebody does today, "did" for what is done."""
        return "does" if self.active.endswith("s") else "did"


_VERBS = {
    "director": Verb("direct", "directed", "directed"),
    "writer": Verb("write", "wrote", "written"),
    "author": Verb("write", "wrote", "written"),
    "composer": Verb("compose", "composed", "composed"),
    "producer": Verb("produce", "produced", "produced"),
    "publisher": Verb("publish", "published", "published"),
    "editor": Verb("edit", "edits", "edited"),
    "architect": Verb("design", "designed", "designed"),
    "designer": Verb("design", "designed", "designed"),
    "builder": Verb("build", "built", "built"),
    "manufacturer": Verb("make", "makes", "made"),
    "maker": Verb("make", "makes", "made"),
    "supplier": Verb("supply", "supplies", "supplied"),
    "founder": Verb("found", "founded", "founded"),
    "owner": Verb("own", "owns", "owned"),
    "operator": Verb("operate", "operates", "operated"),
    "manager": Verb("manage", "manages", "managed"),
    "coach": Verb("coach", "coaches", "coached"),
    "trainer": Verb("train", "trains", "trained"),
    "captain": Verb("captain", "captains", "captained"),
    "driver": Verb("drive", "drives", "driven"),
    "mechanic": Verb("repair", "repairs", "repaired"),
    "inspector": Verb("inspect", "inspects", "inspected"),
    "teacher": Verb("teach", "teaches", "taught"),
    "lecturer": Verb("teach", "teaches", "taught"),
    "host": Verb("host", "hosts", "hosted"),
    "presenter": Verb("present", "presents", "presented"),
    "organizer": Verb("organize", "organizes", "organized"),
    "sponsor": Verb("sponsor", "sponsors", "sponsored"),
    "winner": Verb("win", "won", "won"),
    "champion": Verb("win", "won", "won"),
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
