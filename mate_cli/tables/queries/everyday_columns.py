"""Tables with columns as users have them, and few of Wikipedia: yes and no, days, money, people, codes, kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from mate_cli.tables.amounts import numbered_cells
from mate_cli.tables.queries.copies import with_copies
from mate_cli.tables.queries.headers import head_of, plural
from mate_cli.tables.queries.scales import BEGINNINGS
from mate_cli.tables.queries.sheet import CODES, MAX_CELLS, ColumnType, Sheet
from mate_cli.tables.queries.verbs import OF_PERSONS, OF_THINGS
from mate_cli.tables.queries.words import KINDS, POSSESSIONS, QUALITIES, is_person
from mate_cli.tables.table import Cell, Table

_ALSO_OF_PERSONS = {
    *OF_PERSONS,
    *CODES,
    *("insured", "certified", "retired", "vegetarian", "on leave", "full time", "registered", "employed", "married"),
    *("car", "passport", "driving licence", "pet", "contract", "joined", "hired", "started", "start"),
    *("salary", "fee", "deposit", "donation", "rent", "amount paid"),
}
AMOUNTS = (
    *("amount", "price", "cost", "fee", "budget", "revenue", "salary", "deposit", "funding", "donation", "rent"),
    *("amount paid", "total price"),
)
"""Headers of columns of money, in lower case."""

_LETTERS = ("A", "B", "C", "D", "K", "M", "P", "R", "S", "T", "BK", "GX", "HR", "TR")
_FIRST_NAMES = (
    *("Ada", "Amir", "Bea", "Carl", "Dora", "Eli", "Fay", "Gus", "Hana", "Ines", "Jon", "Kim", "Lena", "Mo", "Nils"),
    *("Olga", "Per", "Rosa", "Sven", "Tess", "Uma"),
)
_SURNAMES = (
    *("Abel", "Brandt", "Castro", "Duval", "Eriksen", "Falk", "Gruber", "Hoang", "Ito", "Jansen", "Keller", "Lopez"),
    *("Marsh", "Novak", "Okoye", "Petrov", "Quist", "Rossi", "Sato", "Thorne", "Urban", "Vance", "Weber", "Ziegler"),
)
_KINDS = (
    ("tool", "paint", "lamp", "plant"),
    ("hotel", "hostel", "apartment", "villa"),
    ("car", "van", "truck", "train", "motorcycle"),
    ("dog", "cat", "horse", "rabbit"),
    ("novel", "guidebook", "cookbook", "comic", "biography"),
    ("laptop", "tablet", "phone", "monitor", "printer"),
    ("concert", "workshop", "lecture", "tour"),
    ("soup", "salad", "dessert", "drink", "snack"),
    ("shirt", "jacket", "skirt", "coat"),
    ("chair", "desk", "sofa", "stool"),
    ("invoice", "refund", "loan", "subscription"),
    ("river", "lake", "mountain", "island", "bridge"),
    ("school", "hospital", "library", "station", "museum"),
)
_FLAGS_WRITTEN = (
    *[("yes", "no"), ("Yes", "No")] * 3,
    *[("TRUE", "FALSE"), ("True", "False"), ("true", "false"), ("Y", "N"), ("x", ""), ("X", "")],
)
_FIRST_DAY, _DAYS = date(1980, 1, 1), 16_800  # before 2026
_DAYS_WRITTEN: tuple[Callable[[date], str], ...] = (
    date.isoformat,
    lambda day: f"{day:%B} {day.day}, {day.year}",
    lambda day: f"{day.day} {day:%B} {day.year}",
)


def _with_strokes(day: date) -> str:
    return f"{day.month}/{day.day}/{day.year}"


def with_everyday_columns(tables: Sequence[Table], seed: int) -> Iterator[Table]:
    """Yield each table; after some of them yield a copy, ``ID+HEADER``, with up to three columns more, drawn at random.

    Only tables whose rows are told apart get them, and none under a header that they have already. The copies are read
    as users' own tables are, with amounts of money and days as people write them, also those that were there before.
    """
    return with_copies(tables, seed, "everyday column", _wider, share=0.7)


def _wider(table: Table, random: Random) -> Table | None:
    wider, number = table, random.choice((1, 2, 2, 3))
    for added in dict.fromkeys(random.choices(_ADDED, _SHARES, k=number)):
        wider = _with_column(wider, added, random) or wider
    return None if wider is table else _with_days_rewritten(wider, random)


def _with_days_rewritten(table: Table, random: Random) -> Table:
    """Return a table with every column of days written in one way, half of the time with strokes."""
    days = {column.place: column.keys for column in Sheet(table).columns if column.kind is ColumnType.DATE}
    write = _with_strokes if random.random() < 0.5 else random.choice(_DAYS_WRITTEN)
    texts = [[cell.text for cell in row] for row in table.rows]
    for place, keys in days.items():
        for row, key in zip(texts, keys, strict=True):
            row[place] = row[place] if key is None else write(date.fromisoformat(str(key)))
    return replace(table, rows=numbered_cells(texts))


def _with_column(table: Table, added: AddedColumn, random: Random) -> Table | None:
    """Return a user's table with a column more; None if it would be too large, or not clear."""
    sheet = Sheet(table)
    if sheet.subject is None or table.num_rows * (table.num_columns + 1) > MAX_CELLS:
        return None
    fitting = [name for name in added.headers if name in _ALSO_OF_PERSONS or not is_person(sheet.subject)]
    if not fitting:
        return None
    header = random.choice(fitting)
    if head_of(header) in {head_of(cell.text) for cell in table.header}:
        return None
    drawn = added.drawn(table.num_rows, random)
    place = 0 if added.headers is CODES else random.randint(1, table.num_columns)
    names = (*table.header[:place], Cell(_capitalized(header, random)), *table.header[place:])
    texts = [[cell.text for cell in row] for row in table.rows]
    rows = numbered_cells([[*row[:place], text, *row[place:]] for row, text in zip(texts, drawn, strict=True)])
    wider = replace(table, id=f"{table.id}+{header}", header=names, rows=rows, everyday=True)
    subject = Sheet(wider).subject
    return wider if subject is not None and subject.name == sheet.subject.name else None


def _flags(number: int, random: Random) -> list[str]:
    """Draw "yes" and "no", or other marks for them, each at least once."""
    said, share = random.choice(_FLAGS_WRITTEN), random.uniform(0.25, 0.75)
    drawn = [said[random.random() < share] for _ in range(number)]
    first, second = random.sample(range(number), 2)
    drawn[first], drawn[second] = said
    return drawn


def _days(number: int, random: Random) -> list[str]:
    """Draw days of up to ten years."""
    start, length = _FIRST_DAY + timedelta(random.randrange(_DAYS - 3650)), random.choice((60, 730, 3650))
    return [str(start + timedelta(random.randrange(length))) for _ in range(number)]


def _amounts(number: int, random: Random) -> list[str]:
    """Draw amounts of money, all written in one way."""
    write, size = random.choice(_AMOUNTS_WRITTEN), random.uniform(1.5, 6.5)
    sign = random.choice("$$€£")
    return [sign + write(10 ** random.uniform(size - 1, size + 1)) for _ in range(number)]


def _in_thousands(amount: float) -> str:
    return f"{amount / 1e6:.1f}M" if amount >= 1e6 else f"{amount / 1e3:.1f}K"


def _people(number: int, random: Random) -> list[str]:
    """Draw names, of which some come several times."""
    few = [f"{random.choice(_FIRST_NAMES)} {random.choice(_SURNAMES)}" for _ in range(random.randint(2, number))]
    return [random.choice(few) for _ in range(number)]


def _kinds(number: int, random: Random) -> list[str]:
    """Draw kinds of things, all written in one way."""
    of_things, write = random.choice(_KINDS), random.choice((str, str.capitalize, plural, _capital_plural))
    return [write(random.choice(of_things)) for _ in range(number)]


def _capital_plural(kind: str) -> str:
    return plural(kind).capitalize()


def _codes(number: int, random: Random) -> list[str]:
    """Draw ascending codes with gaps, with the same letters before them or none."""
    letters = random.choice(("", "", f"{random.choice(_LETTERS)}-", random.choice(_LETTERS)))
    numbers = sorted(random.sample(range(1, 10 * number), number))
    start = random.choice((100, 1000))
    return [f"{letters}{start + code}" for code in numbers]


def _capitalized(header: str, random: Random) -> str:
    return header.capitalize() if random.random() < 0.4 else header


_AMOUNTS_WRITTEN: tuple[Callable[[float], str], ...] = (
    lambda amount: f"{amount:,.2f}",
    lambda amount: f"{amount:,.0f}",
    _in_thousands,
)


class AddedColumn(NamedTuple):
    """Headers of columns that tables get, and how their cells are drawn."""

    headers: Sequence[str]
    drawn: Callable[[int, Random], list[str]]


_ADDED = (
    AddedColumn((*QUALITIES, *POSSESSIONS), _flags),
    AddedColumn((*BEGINNINGS, *["date"] * 5), _days),
    AddedColumn(tuple(dict.fromkeys((*OF_THINGS, *OF_PERSONS))), _people),
    AddedColumn(CODES, _codes),
    AddedColumn(AMOUNTS, _amounts),
    AddedColumn(KINDS, _kinds),
)
_SHARES = (0.25, 0.15, 0.1, 0.1, 0.15, 0.25)
