"""Generate questions about one generated table: choose a cell, and a way to name its row."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from mate_cli.tables.sample.grammar import Column, Fact
from mate_cli.tables.sample.names import is_word
from mate_cli.tables.sample.world import Entity, World
from mate_cli.tables.table import Coordinate

Way = Literal["name", "column", "key_fact", "linked_fact"]
"""Way to name a row: by its key, another cell's text, or a fact that only a passage states."""

# Probability of each way to name the row of the answer, by what the question asks for.
_TO_CELL: dict[Way, float] = {"name": 0.4, "column": 0.15, "key_fact": 0.25, "linked_fact": 0.2}
_TO_KEY: dict[Way, float] = {"column": 0.3, "linked_fact": 0.3, "key_fact": 0.4}
_TO_KEY_FACT: dict[Way, float] = {"name": 0.7, "column": 0.15, "linked_fact": 0.15}
_TO_LINKED_FACT: dict[Way, float] = {"name": 0.5, "column": 0.25, "key_fact": 0.25}

_KEY_QUESTIONS = ("Which is {x} ?", "What is the name of {x} ?", "Give the name of {x} .")


@dataclass(frozen=True)
class Asked:
    """A question and its answer; ``place`` is the cell with the answer, None if there is none."""

    question: str
    answer: str
    place: Coordinate | None
    reasoning: str


def ask_all(world: World, count: int, random: Random) -> list[Asked]:
    """Generate ``count`` questions with answers spread evenly over rows and columns, and those without an answer."""
    asked = [
        Asked(_fact_question(fact, entity.name, random), entity.values[fact], None, "missing")
        for entity in world.entities.values()
        for fact in entity.values
        if fact not in entity.told
    ]
    # Ask half as often about a column of repeated words: a blind guess at a repeated word would pay off.
    columns = [c for c, column in enumerate(world.columns) if not is_word(column.value) or random.random() < 0.5]
    places: list[Coordinate] = []
    while len(places) < count:
        rows = random.sample(range(len(world.rows)), len(world.rows))
        places.extend(zip(rows, random.sample(columns, len(columns)), strict=False))
    return asked + [_ask(world, place, random) for place in places[:count]]


def _ask(world: World, place: Coordinate, random: Random) -> Asked:
    """Ask for the cell at ``place``: its text, or a fact of its passage."""
    entity = world.entities.get(place)
    if entity is not None and random.random() < 0.7:
        return _ask_fact(world, place, entity, random)
    return _ask_text(world, place, random)


def _ask_text(world: World, place: Coordinate, random: Random) -> Asked:
    row, c = place
    is_key = c == world.key
    phrase, way = _name_row(world, place, _TO_KEY if is_key else _TO_CELL, random)
    question = random.choice(_KEY_QUESTIONS if is_key else world.columns[c].asks).format(x=phrase)
    reasoning = "lookup" if way in ("name", "column") else "two_hop"
    # The key's own passage states the fact: the described cell is the answer.
    return Asked(question, world.rows[row][c], place, "passage" if is_key and way == "key_fact" else reasoning)


def _ask_fact(world: World, place: Coordinate, entity: Entity, random: Random) -> Asked:
    fact = random.choice(entity.told)
    is_key = place[1] == world.key
    if not is_key and random.random() < 0.45:
        return Asked(_fact_question(fact, entity.name, random), entity.values[fact], place, "passage")
    phrase, way = _name_row(world, place, _TO_KEY_FACT if is_key else _TO_LINKED_FACT, random)
    if not is_key:
        phrase = f"the {_relation(world.columns[place[1]])} of {phrase}"
    reasoning = "passage" if way == "name" else "two_hop"
    return Asked(_fact_question(fact, phrase, random), entity.values[fact], place, reasoning)


def _fact_question(fact: Fact, phrase: str, random: Random) -> str:
    return random.choice(fact.asks).format(x=phrase)


def _name_row(world: World, target: Coordinate, ways: dict[Way, float], random: Random) -> tuple[str, Way]:
    """Return a noun phrase for the row of ``target`` that does not use the target itself."""
    row, key = target[0], world.key
    others = [c for c in range(len(world.columns)) if c not in (target[1], key)]
    usable = {
        "name": [key],
        "column": [c for c in others if not is_word(world.columns[c].value)],
        "key_fact": [key],
        "linked_fact": [c for c in others if world.columns[c].facts],
    }
    possible = [way for way in ways if usable[way]]
    way = random.choices(possible, [ways[way] for way in possible])[0]
    c = random.choice(usable[way])
    if way == "name":
        return world.rows[row][key], way
    pronoun = "who" if world.domain.key.value == "person" else "that"
    noun = f"the {world.domain.key.noun}"
    if way == "column":
        predicate = random.choice(world.columns[c].predicates).format(v=world.rows[row][c])
        return f"{noun} {pronoun} {predicate}", way
    entity = world.entities[row, c]
    fact = random.choice(entity.told)
    predicate = random.choice(fact.predicates).format(v=entity.values[fact])
    link = pronoun if way == "key_fact" else f"whose {_relation(world.columns[c])}"
    return f"{noun} {link} {predicate}", way


def _relation(column: Column) -> str:
    """Return the relation of a linked cell to its row: "director" of a film, "nearest town" of a mountain."""
    return column.headers[0].lower()
