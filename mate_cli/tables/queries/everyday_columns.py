"""Tables with a column as users' tables have it, and few of Wikipedia: of yes and no, days, people in charge, codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random

from mate_cli.tables.queries.copies import with_copies
from mate_cli.tables.queries.headers import head_of
from mate_cli.tables.queries.scales import BEGINNINGS
from mate_cli.tables.queries.sheet import CODES, MAX_CELLS, Sheet
from mate_cli.tables.queries.verbs import OF_PERSONS, OF_THINGS
from mate_cli.tables.queries.words import POSSESSIONS, QUALITIES, is_person
from mate_cli.tables.table import Cell, Table

_ALSO_OF_PERSONS = {
    *OF_PERSONS,
    *CODES,
    *("insured", "certified", "retired", "vegetarian", "on leave", "full time", "registered", "employed", "married"),
    *("car", "passport", "driving licence", "pet", "contract", "joined", "hired", "started", "start"),
}
_LETTERS = ("A", "B", "C", "D", "K", "M", "P", "R", "S", "T", "BK", "GX", "HR", "TR")
_FIRST_NAMES = (
    *("Ada", "Amir", "Bea", "Carl", "Dora", "Eli", "Fay", "Gus", "Hana", "Ines", "Jon", "Kim", "Lena", "Mo", "Nils"),
    *("Olga", "Per", "Rosa", "Sven", "Tess", "Uma"),
)
_SURNAMES = (
    *("Abel", "Brandt", "Castro", "Duval", "Eriksen", "Falk", "Gruber", "Hoang", "Ito", "Jansen", "Keller", "Lopez"),
    *("Marsh", "Novak", "Okoye", "Petrov", "Quist", "Rossi", "Sato", "Thorne", "Urban", "Vance", "Weber", "Ziegler"),
)
_FIRST_DAY, _DAYS = date(1980, 1, 1), 13_000  # before 2016, up to which training reads years (tables.values)
_WRITTEN: tuple[Callable[[date], str], ...] = (
    date.isoformat,
    date.isoformat,
    lambda day: f"{day:%B} {day.day}, {day.year}",
    lambda day: f"{day.day} {day:%B} {day.year}",
)


def with_everyday_columns(tables: Sequence[Table], seed: int) -> Iterator[Table]:
    """Yield each table; after some of them yield a copy, ``ID+HEADER``, with another column, drawn at random.

    Only tables whose rows are told apart get one, and none under a header that they have already.
    """
    return with_copies(tables, seed, "everyday column", _wider)


def _wider(table: Table, random: Random) -> Table | None:
    sheet = Sheet(table)
    if sheet.subject is None or table.num_rows * (table.num_columns + 1) > MAX_CELLS:
        return None
    ((headers, drawn),) = random.choices(_KINDS, _SHARES)
    header = random.choice([name for name in headers if name in _ALSO_OF_PERSONS or not is_person(sheet.subject)])
    if head_of(header) in {head_of(cell.text) for cell in table.header}:
        return None
    texts = drawn(table.num_rows, random)
    place = 0 if headers is CODES else random.randint(1, table.num_columns)
    names = (*table.header[:place], Cell(_capitalized(header, random)), *table.header[place:])
    rows = tuple((*row[:place], Cell(text), *row[place:]) for row, text in zip(table.rows, texts, strict=True))
    wider = replace(table, id=f"{table.id}+{header}", header=names, rows=rows)
    subject = Sheet(wider).subject
    return wider if subject is not None and subject.name == sheet.subject.name else None


def _flags(number: int, random: Random) -> list[str]:
    """Draw "yes" and "no", each at least once."""
    said, share = random.choice((("yes", "no"), ("Yes", "No"))), random.uniform(0.25, 0.75)
    drawn = [said[random.random() < share] for _ in range(number)]
    first, second = random.sample(range(number), 2)
    drawn[first], drawn[second] = said
    return drawn


def _days(number: int, random: Random) -> list[str]:
    """Draw days of about ten years, all written in one way."""
    write, start = random.choice(_WRITTEN), _FIRST_DAY + timedelta(random.randrange(_DAYS - 3650))
    return [write(start + timedelta(random.randrange(3650))) for _ in range(number)]


def _people(number: int, random: Random) -> list[str]:
    """Draw names, of which some come several times."""
    few = [f"{random.choice(_FIRST_NAMES)} {random.choice(_SURNAMES)}" for _ in range(random.randint(2, number))]
    return [random.choice(few) for _ in range(number)]


def _codes(number: int, random: Random) -> list[str]:
    """Draw ascending codes with gaps, with the same letters before them or none."""
    letters = random.choice(("", "", f"{random.choice(_LETTERS)}-", random.choice(_LETTERS)))
    numbers = sorted(random.sample(range(1, 10 * number), number))
    start = random.choice((100, 1000))
    return [f"{letters}{start + code}" for code in numbers]


def _capitalized(header: str, random: Random) -> str:
    return header.capitalize() if random.random() < 0.4 else header


_KINDS: tuple[tuple[Sequence[str], Callable[[int, Random], list[str]]], ...] = (
    ((*QUALITIES, *POSSESSIONS), _flags),
    (tuple(BEGINNINGS), _days),
    (tuple(dict.fromkeys((*OF_THINGS, *OF_PERSONS))), _people),
    (CODES, _codes),
)
"""Headers of the columns that tables get, and how their cells are drawn."""

_SHARES = (0.4, 0.25, 0.2, 0.15)
