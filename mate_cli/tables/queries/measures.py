"""Tables of which one column measures what an adjective compares: few real tables have depths, ages or prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from mate_cli.tables.queries.scales import measured
from mate_cli.tables.queries.sheet import ColumnType, Sheet, TypedColumn
from mate_cli.tables.queries.words import head, is_label
from mate_cli.tables.table import Cell, Table

_SHARE = 0.5
_MAX_AGE = 120
_UNITS = {
    "height": ("m", "cm", "ft"),
    "elevation": ("m", "ft"),
    "depth": ("m", "ft"),
    "length": ("km", "m", "miles"),
    "distance": ("km", "miles"),
    "duration": ("minutes", "days"),
    "width": ("m", "cm"),
    "weight": ("kg", "lb", "t"),
    "price": ("$", "€", "USD"),
    "cost": ("$", "€"),
    "area": ("km2", "ha", "acres"),
    "speed": ("km/h", "mph"),
    "time": ("seconds", "s"),
    "temperature": ("°C", "°F"),
    "floors": (),
    "capacity": (),
    "population": (),
    "size": ("MB", "m2"),
    "age": ("years",),
}
_EVENTS = ("built", "opened", "founded", "released", "born", "year built", "year opened")


def with_measures(tables: Sequence[Table], seed: int) -> Iterator[Table]:
    """Yield each table; after some of them yield a copy, ``ID+HEADER``, in which a column has the name of a measure.

    Only tables without a measure get a copy, and only columns of plain numbers or years a new name.
    """
    for table in tables:
        yield table
        random = Random(f"{seed} measure of {table.id}")
        if random.random() < _SHARE and (renamed := _renamed(table, random)) is not None:
            yield renamed


def _renamed(table: Table, random: Random) -> Table | None:
    sheet = Sheet(table)
    columns = [column for column in sheet.columns if column is not sheet.subject and _can_measure(column)]
    if not columns or measured(sheet.columns):
        return None
    column = random.choice(columns)
    name = random.choice(_EVENTS) if column.kind is ColumnType.YEAR else _measure(column, random)
    if name in {head(other) for other in sheet.columns}:
        return None
    header = list(table.header)
    header[column.place] = Cell(name)
    return replace(table, id=f"{table.id}+{name}", header=tuple(header))


def _can_measure(column: TypedColumn) -> bool:
    return column.kind is ColumnType.YEAR or (column.adds_up and not is_label(column))


def _measure(column: TypedColumn, random: Random) -> str:
    """Return a header, "depth in m" or "Depth (m)", with a unit as often as without."""
    keys = [key for key in column.keys if isinstance(key, float)]
    is_age = all(key.is_integer() and 0 < key <= _MAX_AGE for key in keys)
    name = random.choice([noun for noun in _UNITS if noun != "age" or is_age])
    unit = random.choice(_UNITS[name]) if _UNITS[name] and random.random() < 0.5 else ""
    name = name.capitalize() if random.random() < 0.4 else name
    return f"{name} {random.choice((f'in {unit}', f'({unit})'))}" if unit else name
