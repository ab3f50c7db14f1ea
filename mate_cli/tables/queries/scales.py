"""Columns that an adjective measures: "the tallest plant", "older than 30", "how deep is", and what can be added up."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mate_cli.tables.queries.headers import head_of
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn
from mate_cli.tables.queries.words import head, is_label, is_mass, is_time

_ADJECTIVES = {
    "age": ("old", "young"),
    "height": ("tall", "short"),
    "elevation": ("high", "low"),
    "altitude": ("high", "low"),
    "depth": ("deep", "shallow"),
    "length": ("long", "short"),
    "distance": ("long", "short"),
    "duration": ("long", "short"),
    "runtime": ("long", "short"),
    "width": ("wide", "narrow"),
    "weight": ("heavy", "light"),
    "mass": ("heavy", "light"),
    "price": ("expensive", "cheap"),
    "cost": ("expensive", "cheap"),
    "fee": ("expensive", "cheap"),
    "area": ("large", "small"),
    "amount": ("large", "small"),
    "size": ("large", "small"),
    "population": ("populous", "small"),
    "speed": ("fast", "slow"),
    "time": ("slow", "fast"),
    "seconds": ("slow", "fast"),
    "temperature": ("warm", "cold"),
    "floors": ("tall", "short"),
    "stories": ("tall", "short"),
    "storeys": ("tall", "short"),
    **dict.fromkeys(("days", "hours", "nights", "weeks", "pages"), ("long", "short")),
    **dict.fromkeys(("fare", "rent"), ("expensive", "cheap")),
    **dict.fromkeys(("seats", "rooms", "beds"), ("large", "small")),
    "capacity": ("large", "small"),
    "enrollment": ("large", "small"),
    "diameter": ("large", "small"),
    "tonnage": ("heavy", "light"),
}
_OF_TIMES = ("new", "old")
_OF_BIRTHS = ("young", "old")
_BIRTHS = ("born", "birth", "birthdate", "birthday")
_STARTED = (
    *("built", "opened", "founded", "established", "constructed"),
    *("completed", "formed", "released", "introduced"),
)
"""Headers that say what happened at the time of a column: the newest was opened last."""

BEGINNINGS = {name: f"was {name}" for name in _STARTED} | {
    "start": "started",
    "started": "started",
    "joined": "joined",
    "hired": "was hired",
    "bought": "was bought",
    "ordered": "was ordered",
    "placed": "was placed",
    "issued": "was issued",
    "delivered": "was delivered",
    "sold": "was sold",
    "due": "is due",
    "arrival": "arrived",
    "departure": "left",
}
"""Header -> the verb for what happened at the time of a column, each once to a row."""

_BASES = {"started": "start", "joined": "join", "arrived": "arrive", "left": "leave"}
_PRICES = ("price", "cost", "fee", "fare")
PRICES = frozenset(["charge", "cost", "costs", "fare", "fee", "fees", "price", "prices", "rate", "rates", "rent"])
"""Words in the headers of prices, more than questions are made about."""

_SUMS = (
    *("cost", "price", "fee", "amount", "salary", "budget", "revenue", "income", "spending", "spent"),
    *("deposit", "funding", "donation", "rent"),
    *("length", "distance", "area", "weight", "duration"),
)
_LONG = 7


def scale(column: TypedColumn) -> tuple[str, str] | None:
    """Return the adjectives of a high and of a low value of a column.

    None if no adjective measures it, or the same ones may measure another column: "larger" than which in capacity?
    """
    if is_time(column):
        adjectives = _of_time(head(column))
        others = map(_of_time, map(head_of, column.others))
    else:
        adjectives = _ADJECTIVES.get(head(column)) if column.kind is ColumnType.NUMBER else None
        others = map(_ADJECTIVES.get, map(head_of, column.others))
    is_clear = adjectives is not None and all({*adjectives}.isdisjoint(other or ()) for other in others)
    return adjectives if is_clear else None


def adjectives_of(noun: str) -> tuple[str, str] | tuple[()]:
    """Return the adjectives of a high and of a low value of what a noun names; none if no adjective measures it."""
    return _ADJECTIVES.get(noun, ())


def _of_time(noun: str) -> tuple[str, str] | None:
    return _OF_TIMES if noun in _STARTED else _OF_BIRTHS if noun in _BIRTHS else None


def measured(columns: Iterable[TypedColumn]) -> list[TypedColumn]:
    """Return the columns that an adjective measures."""
    return [column for column in columns if scale(column) is not None]


def event(column: TypedColumn) -> str | None:
    """Return the participle that names what happened at the time of a column: "opened"."""
    return head(column) if is_time(column) and head(column) in _STARTED else None


def began(column: TypedColumn) -> str | None:
    """Return the verb for what happened at the time of a column: "was opened", "joined"."""
    return BEGINNINGS.get(head(column)) if is_time(column) else None


def when(column: TypedColumn, thing: str) -> str | None:
    """Return what follows "when" in a question for the time of a thing: "was the church built", "did she start"."""
    if (verb := began(column)) is None:
        return None
    if base := _BASES.get(verb):
        return f"did {thing} {base}"
    auxiliary, _, happened = verb.partition(" ")
    return f"{auxiliary} {thing} {happened}"


def is_price(column: TypedColumn) -> bool:
    return column.kind is ColumnType.NUMBER and head(column) in _PRICES


def adds_up_in_words(column: TypedColumn) -> bool:
    """Return whether people add up a column that counts nothing: prices, lengths."""
    return column.adds_up and not is_label(column) and (head(column) in _SUMS or is_mass(column))


def averages_in_words(column: TypedColumn) -> bool:
    """Return whether people ask for the average of a column: of all that an adjective measures, too."""
    return adds_up_in_words(column) or (column.adds_up and head(column) in _ADJECTIVES)


def most(adjective: str) -> str:
    return f"most {adjective}" if _is_long(adjective) else f"{_stem(adjective)}st"


def more(adjective: str) -> str:
    return f"more {adjective}" if _is_long(adjective) else f"{_stem(adjective)}r"


def _is_long(adjective: str) -> bool:
    return len(adjective) > _LONG or adjective.endswith("ous")


def _stem(adjective: str) -> str:
    """Return the adjective with the e of its endings."""
    stem = re.sub("y$", "i", adjective)
    return stem if stem.endswith("e") else f"{stem}e"
