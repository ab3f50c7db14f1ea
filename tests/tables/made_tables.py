"""Tables for questions, drawn at random: every type of column, empty cells, quotes, repeated values and ties."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from mate_cli.tables.table import Cell, Table

_SYLLABLES = "ka lo mi ru ten bar sol vi dor an".split()  # noqa: SIM905
_COUNTRIES = ("France", "Côte d'Ivoire", "Spain", 'the "Isles"', "New Zealand")


def made_table(number: int, rows: int = 9) -> Table:
    """Return the table of that number: always the same one."""
    random = Random(number)
    header = [
        "Name",
        "Country",
        "Points",
        "Attendance (total)",
        "Year",
        'Date of "debut"',
        "Share",
        "Notes",
        "",
        "Round",
    ]
    body = []
    for place in range(rows):
        name = "".join(random.choices(_SYLLABLES, k=3)).title() + ("'s" if place == 2 else "")
        day = date(1950, 1, 1) + timedelta(days=random.randrange(20_000))
        cells = [
            f"{name} {place}" if place % 3 else name,
            random.choice(_COUNTRIES),
            str(random.randrange(1, 12)),
            f"{random.randrange(900, 90_000):,}",
            str(1950 + random.randrange(60)),
            f"{day.day} {day:%B} {day.year}",
            f"{random.randrange(999) / 10}%",
            random.choice(("-", "", "injured", "late (rain)")),
            random.choice("abc"),
            f"{place + 1}",
        ]
        body.append([text if random.random() < 0.95 or column == 0 else "" for column, text in enumerate(cells)])
    order = sorted(range(1, len(header)), key=lambda _: random.random())[: random.randrange(3, len(header))]
    places = [0, *order] if random.random() < 0.7 else [*order, 0]
    return Table(
        f"made {number}",
        tuple(Cell(header[place]) for place in places),
        tuple(tuple(Cell(row[place]) for place in places) for row in body),
    )
