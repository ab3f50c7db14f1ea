"""Wordings of the sample: the sentences of its passages and the questions about them.

In every template ``{e}`` is the entity of a passage, ``{v}`` a value and ``{x}`` a noun phrase for an entity. A
sentence and its question share as few words as possible, so that word overlap alone does not find the answer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """A fact that a passage states about its entity.

    Attributes:
        value: kind of the value (``names.Names``).
        sentences: wordings in a passage; asks: questions for the value.
        predicates: phrases after "the film that" or "whose director" that describe the entity by the value.
    """

    value: str
    sentences: tuple[str, ...]
    asks: tuple[str, ...]
    predicates: tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A column, with questions for its value and descriptions of a row by it.

    Attributes:
        headers: possible names; value: kind of its values; noun: noun for a linked value.
        asks: questions for the cell in the row of ``{x}``; predicates: descriptions of the row by the cell's value;
            the column that names the rows has neither.
        facts: facts in the passage of a linked value; empty if the column has no links.
    """

    headers: tuple[str, ...]
    value: str
    asks: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    noun: str = ""
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Domain:
    """A kind of table: ``key`` names the rows, ``columns`` describe them."""

    plural: str
    key: Column
    columns: tuple[Column, ...]


def person_facts(learned: str, passion: str) -> tuple[Fact, ...]:
    """Return the facts in passages about people of a profession."""
    return (
        Fact(
            "place",
            ("{e} was born in {v} as the youngest of four children .", "{e} came into the world in {v} ."),
            ("Where did {x} spend the first days of life ?", "What is the birthplace of {x} ?"),
            ("hails from {v}", "is a native of {v}"),
        ),
        Fact(
            "person",
            (f"{{e}} {learned} under {{v}} .", f"As a student , {{e}} {learned} with {{v}} ."),
            ("Who was the teacher of {x} ?", "Whose pupil was {x} ?"),
            ("was taught by {v}", "had {v} as teacher"),
        ),
        Fact(
            "society",
            (f"{{e}} joined the {{v}} because of a passion for {passion} .", "{e} was elected to the {v} ."),
            ("To which society did {x} belong ?", "Of which club was {x} a member ?"),
            ("was a member of the {v}", "belonged to the {v}"),
        ),
    )


INTRODUCTIONS = (
    "{e} is a {noun} described in several books .",
    "{e} is a {noun} known far beyond the region .",
    "{e} is a {noun} of some renown .",
)

FILLERS = (
    "Little is known about the early years .",
    "A small exhibition tells the whole story .",
    "Several guides recommend a visit on quiet days .",
    "The local newspaper has reported on it more than once .",
    "Experts disagree about many of the details .",
    "An anniversary was marked with a special stamp .",
)

COMPARISONS = (
    "Comparisons with {other} are common .",
    "Writers often mention {other} in the same breath .",
)
