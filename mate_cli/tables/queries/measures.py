"""Tables of which one column measures what an adjective compares: few real tables have depths, ages or prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from mate_cli.tables.queries.copies import with_copies
from mate_cli.tables.queries.headers import head_of
from mate_cli.tables.queries.scales import measured
from mate_cli.tables.queries.sheet import ColumnType, Sheet, TypedColumn
from mate_cli.tables.queries.words import is_label, is_person
from mate_cli.tables.table import Cell, Table

# The least and the greatest number that people would believe, in each unit.
_RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "height": {"m": (1, 900), "cm": (20, 300), "ft": (3, 3000)},
    "elevation": {"m": (0, 8900), "ft": (0, 29_100)},
    "depth": {"m": (1, 11_000), "ft": (1, 36_000)},
    "length": {"km": (1, 7000), "m": (1, 10_000), "miles": (1, 5000)},
    "distance": {"km": (1, 50_000), "miles": (1, 30_000)},
    "duration": {"minutes": (1, 600), "days": (1, 2000)},
    "width": {"m": (1, 500), "cm": (1, 500)},
    "weight": {"kg": (1, 2000), "lb": (1, 4000), "t": (1, 5000)},
    "price": {"$": (1, 100_000), "€": (1, 100_000), "USD": (1, 100_000)},
    "cost": {"$": (1, 1e9), "€": (1, 1e9)},
    "area": {"km2": (1, 2e7), "ha": (1, 1e6), "acres": (1, 1e6)},
    "speed": {"km/h": (5, 1500), "mph": (5, 1000)},
    "time": {"seconds": (1, 5000), "s": (1, 5000)},
    "temperature": {"°C": (-60, 60), "°F": (-60, 130)},
    "floors": {"": (1, 160)},
    "capacity": {"": (50, 150_000)},
    "population": {"": (100, 2e9)},
    "size": {"MB": (1, 50_000), "m2": (5, 100_000)},
    "age": {"years": (1, 120)},
}
_WHOLE = {"floors", "capacity", "population", "age"}
_OF_PERSONS = {"height", "weight", "age", "time", "distance", "speed", "price"}
_EVENTS = ("built", "opened", "founded", "released", "year built", "year opened")


def with_measures(tables: Sequence[Table], seed: int) -> Iterator[Table]:
    """Yield each table; after some of them yield a copy, ``ID=HEADER``, in which a column has the name of a measure.

    Only tables without a measure get a copy, and only columns of plain numbers or years a new name.
    """
    return with_copies(tables, seed, "measure", _renamed, share=0.5)


def _renamed(table: Table, random: Random) -> Table | None:
    sheet = Sheet(table)
    of_person = sheet.subject is not None and is_person(sheet.subject)
    units = {column: _units(column, of_person) for column in sheet.columns if column is not sheet.subject}
    columns = [column for column, fitting in units.items() if column.kind is ColumnType.YEAR or fitting]
    if not columns or measured(sheet.columns):
        return None
    column = random.choice(columns)
    if column.kind is ColumnType.YEAR:
        name = "born" if of_person else random.choice(_EVENTS)
    else:
        name = _measure(units[column], random)
    if head_of(name) in map(head_of, column.others):
        return None
    header = list(table.header)
    header[column.place] = Cell(name)
    renamed = replace(table, id=f"{table.id}={name}", header=tuple(header))
    return renamed if measured(Sheet(renamed).columns) else None  # a header of the others may have the adjective too


def _units(column: TypedColumn, of_person: bool) -> dict[str, list[str]]:
    """Return the measures that the numbers of a column may be of, each with its units; of people few are known."""
    if not column.adds_up or is_label(column):
        return {}
    keys = [key for key in column.keys if isinstance(key, float)]
    known = [name for name in _RANGES if name in _OF_PERSONS or not of_person]
    names = [name for name in known if name not in _WHOLE or all(map(float.is_integer, keys))]
    fitting = {
        name: [unit for unit, (least, most) in _RANGES[name].items() if least <= min(keys) and max(keys) <= most]
        for name in names
    }
    return {name: units for name, units in fitting.items() if units}


def _measure(units: dict[str, list[str]], random: Random) -> str:
    """Return a header, "depth in m" or "Depth (m)", with a unit as often as without."""
    name = random.choice([*units])
    unit = random.choice(units[name]) if random.random() < 0.5 else ""
    name = name.capitalize() if random.random() < 0.4 else name
    return f"{name} {random.choice((f'in {unit}', f'({unit})'))}" if unit else name
