"""What people in charge do: a director directs films, and they are directed by her."""

from __future__ import annotations

from dataclasses import dataclass


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


VERBS = {
    "director": Verb("direct", "directed", "directed"),
    "writer": Verb("write", "wrote", "written"),
    "author": Verb("write", "wrote", "written"),
    "composer": Verb("compose", "composed", "composed"),
    "producer": Verb("produce", "produced", "produced"),
    "publisher": Verb("publish", "published", "published"),
    "editor": Verb("edit", "edits", "edited"),
    "designer": Verb("design", "designed", "designed"),
    "architect": Verb("design", "designed", "designed"),
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
    "organiser": Verb("organise", "organises", "organised"),
    "sponsor": Verb("sponsor", "sponsors", "sponsored"),
    "customer": Verb("order", "ordered", "ordered"),
    "client": Verb("order", "ordered", "ordered"),
    "buyer": Verb("buy", "bought", "bought"),
    "seller": Verb("sell", "sold", "sold"),
    "tenant": Verb("rent", "rents", "rented"),
    "borrower": Verb("borrow", "borrowed", "borrowed"),
    "winner": Verb("win", "won", "won"),
    "champion": Verb("win", "won", "won"),
}
"""Noun of a header -> what its people do with the thing of a row."""

AGENTS = {verb.participle: agent for agent, verb in reversed(VERBS.items())}
"""Participle -> the noun, the first of several: "director" for a column "directed by"."""
