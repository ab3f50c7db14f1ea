"""Find the row at a place of an order: "the second tallest tower", "the next oldest member after Ann".

A model points to cells one by one and hardly ever counts places: of the seven such questions of WikiTableQuestions dev
whose column is clear weights 0.11.0 answer none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.columns import column_values
from mate_cli.tables.number_words import ORDINALS
from mate_cli.tables.queries.headers import words_of
from mate_cli.tables.queries.scales import most, scale
from mate_cli.tables.queries.sheet import ColumnType, Sheet, TypedColumn, is_total
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import stems, words
from mate_cli.tables.text import normalize_for_match

_PLACES = {word: place for word, place in ORDINALS.items() if 2 <= place <= 10}
_PLACES |= {"2nd": 2, "3rd": 3, **{f"{place}th": place for place in range(4, 11)}}
_ASKED = re.compile(
    rf"\b(?P<place>next|{'|'.join(_PLACES)})[ -](?P<extreme>most recent|most|least|best|worst|\w{{2,}}est)\b"
    r"(?P<of>.*?)(?: (?:after|behind|following)\b|$)"
)
_HIGH = frozenset(["best", "biggest", "greatest", "highest", "largest", "longest", "most"])
_LOW = frozenset(["fewest", "least", "lowest", "shortest", "smallest", "worst"])
_LATE = frozenset(["latest", "most recent", "newest"])
_EARLY = frozenset(["earliest", "oldest"])
_FIRST_IS_BEST = frozenset(["place", "position", "rank", "time"])


class _Order(NamedTuple):
    column: int
    highest_first: bool


def ranked_row(question: str, table: Table) -> int | None:
    """Return the row at the place that a question says; for "next", the one after the row that it names.

    The order is that of the one column of numbers or dates which an adjective measures ("tallest": the height) or whose
    header follows it ("the second most goals"). Of rows that the question names, these alone count; totals do not. None
    if no column or several may be meant, or in a tie.
    """
    asked = _ASKED.search(normalize_for_match(question).rstrip(" ?."))
    order = None if asked is None else _order(asked["extreme"], asked["of"], table)
    if asked is None or order is None:
        return None
    named = asked_rows(question, table)
    follows = asked["place"] == "next"
    if follows and len(named.rows) != 1:
        return None
    values = column_values(table)
    ranks = (values.inverse_rank if order.highest_first else values.rank)[:, order.column]
    among = named.rows if named.suffice and not follows else range(table.num_rows)
    rows = sorted((row for row in among if ranks[row] and not is_total(table.rows[row])), key=lambda row: ranks[row])
    if follows and named.rows[0] not in rows:
        return None
    place = rows.index(named.rows[0]) + 1 if follows else _PLACES[asked["place"]] - 1
    return _alone(rows, [int(ranks[row]) for row in rows], place)


def _alone(rows: list[int], ranks: list[int], place: int) -> int | None:
    """Return the row at a place, from 0; None if there is none, or others have its rank or share one before it."""
    untied = len({*ranks[: place + 1]}) == place + 1 and ranks[place : place + 1] != ranks[place + 1 : place + 2]
    return rows[place] if place < len(rows) and untied else None


def _order(extreme: str, of: str, table: Table) -> _Order | None:
    columns = [column for column in Sheet(table).columns if column.is_ordered]
    named = [column for column in columns if {*words(of)} & stems(words_of(column.name))]
    if extreme in _HIGH | _LOW and len(named) == 1:
        first_is_best = {*words_of(named[0].name)} & _FIRST_IS_BEST and extreme in ("best", "worst")
        return None if first_is_best else _Order(named[0].place, extreme in _HIGH)
    measured = [*_measured(extreme, of, columns)]
    if not measured and extreme in _LATE | _EARLY:
        times = [column for column in columns if column.kind in (ColumnType.DATE, ColumnType.YEAR)]
        measured = [_Order(column.place, extreme in _LATE) for column in times]
    return measured[0] if len(measured) == 1 else None


def _measured(extreme: str, of: str, columns: Iterable[TypedColumn]) -> Iterable[_Order]:
    """Yield the columns that an adjective measures: "tallest", or "most" before "expensive"."""
    adjective = " ".join([extreme, *of.split()[:1]]) if extreme == "most" else extreme
    for column in columns:
        for highest_first, of_column in zip((True, False), scale(column) or (), strict=False):
            if most(of_column) == adjective:
                yield _Order(column.place, highest_first)
