"""Generate one table with the entities of its linked cells and their passages."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from mate_cli.tables.sample.grammar import COMPARISONS, FILLERS, INTRODUCTIONS, Column, Domain, Fact
from mate_cli.tables.sample.names import Names
from mate_cli.tables.table import Coordinate


@dataclass(frozen=True)
class Entity:
    """The entity of a linked cell.

    Attributes:
        values: fact -> its value; told: facts in its passage, nearly always all of them.
    """

    name: str
    values: dict[Fact, str]
    told: tuple[Fact, ...]
    passage: str


@dataclass
class World:
    """A generated table: columns, cell texts, and entities by cell."""

    domain: Domain
    columns: list[Column]
    headers: list[str]
    rows: list[list[str]]
    entities: dict[Coordinate, Entity] = field(default_factory=dict)

    @property
    def key(self) -> int:
        """The column that names the rows."""
        return self.columns.index(self.domain.key)


def build_world(domain: Domain, names: Names, random: Random, quiet: bool = False) -> World:
    """Generate 5 or 6 rows and 4 or 5 columns; with ``quiet``, the passage of one row omits a fact."""
    columns = [domain.key, *domain.columns]
    if random.random() < 0.3:
        columns.remove(random.choice(domain.columns[1:]))
    height = random.randint(5, 6)
    cells = [names.column(column.value, height) for column in columns]
    headers = [random.choice(column.headers) for column in columns]
    world = World(domain, columns, headers, [list(row) for row in zip(*cells, strict=True)])
    reticent = (random.randrange(height), world.key) if quiet else None
    for place in [(r, c) for c, column in enumerate(columns) if column.facts for r in range(height)]:
        world.entities[place] = _entity(world, place, place == reticent, names, random)
    return world


def _entity(world: World, place: Coordinate, quiet: bool, names: Names, random: Random) -> Entity:
    """Write the facts in random order among filler sentences; some of these name another row's entity."""
    row, c = place
    column, name = world.columns[c], world.rows[row][c]
    values = {fact: names.one(fact.value) for fact in column.facts}
    told = tuple(random.sample(column.facts, len(column.facts) - quiet))
    sentences = [_tell(fact, values[fact], name, column, random) for fact in told]
    if random.random() < 0.2:
        other = random.choice([r for r in range(len(world.rows)) if r != row])
        sentences.append(random.choice(COMPARISONS).format(other=world.rows[other][c]))
    sentences.extend(random.sample(FILLERS, random.randint(1, 2)))
    random.shuffle(sentences)
    opening = random.choice(INTRODUCTIONS).format(e=name, noun=column.noun)
    return Entity(name, values, told, " ".join([opening, *sentences]))


def _tell(fact: Fact, value: str, name: str, column: Column, random: Random) -> str:
    subject = name if random.random() < 0.5 else f"the {column.noun}"
    sentence = random.choice(fact.sentences).format(e=subject, v=value)
    return sentence[0].upper() + sentence[1:]
