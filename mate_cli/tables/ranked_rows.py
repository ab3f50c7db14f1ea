"""Find the row at a place of an order: "the second tallest tower", "the next oldest member after Ann", "the cheapest
room with a projector", "which is older, Ann or Bob?".

A model points to cells one by one and hardly ever counts places: of the seven such questions of WikiTableQuestions dev
whose column is clear weights 0.11.0 answer none. Extremes they mostly find, but seldom those of some rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mate_cli.tables.answer_form import wants_one
from mate_cli.tables.asked_rows import asked_rows, most_behind_headers
from mate_cli.tables.columns import column_values
from mate_cli.tables.longest_standing import BEGINS
from mate_cli.tables.named_rows import TO_OTHER_ROWS
from mate_cli.tables.number_words import ORDINALS
from mate_cli.tables.queries.headers import words_of
from mate_cli.tables.queries.scales import PRICES, adjectives_of, most, scale
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn, is_total, sheet_of
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.table_index import parts_of_cells, stems, stems_of_cells, words
from mate_cli.tables.text import format_names, normalize_for_match

_PLACES = {word: place for word, place in ORDINALS.items() if 2 <= place <= 10}
_PLACES |= {"2nd": 2, "3rd": 3, **{f"{place}th": place for place in range(4, 11)}}
_MOST = r"(?P<extreme>most recent|most|least|best|worst|\w{2,}est)"
_AT_PLACE = re.compile(
    rf"\b(?P<place>next|{'|'.join(_PLACES)})[ -]{_MOST}\b(?P<of>.*?)(?: (?:after|behind|following)\b|$)"
)
_EXTREME = re.compile(rf"\bthe {_MOST}\b(?P<of>.*)")
_PLACED = "came|come|finish(?:ed)?|is|listed|place[ds]?|ranked|was"
_IN_TIME = re.compile(rf"\b(?P<of>(?!(?:{_PLACED})\b)\w+) (?P<extreme>first|last|earliest|latest)$")
_COMPARED = re.compile(
    r"\b(?P<costs>costs? )?(?P<comparative>more|less|better|worse|\w{2,}er)\b(?=(?P<of>.*?)(?:,| (?:or|than)\b|$))"
)
_NO_COMPARISON = re.compile(r"^how\b|\bmore or (?:fewer|less)\b")
_SUPERLATIVES = {"more": "most", "less": "least", "better": "best", "worse": "worst"}
_DIGIT = re.compile(r"\d")
_HIGH = frozenset(["best", "biggest", "greatest", "highest", "largest", "longest", "most"])
_LOW = frozenset(["fewest", "least", "lowest", "shortest", "smallest", "worst"])
_LATE = frozenset(["last", "latest", "most recent", "newest"])
_EARLY = frozenset(["earliest", "first", "oldest"])
_FIRST_IS_BEST = frozenset(["place", "position", "rank", "time"])
_OF_PRICES = ("expensive", "cheap")
_OPPOSITES = {"cheap": "least expensive"}
_TIMES = (ColumnType.DATE, ColumnType.YEAR)


class _Order(NamedTuple):
    column: int
    highest_first: bool


def ranked_row(question: str, table: Table) -> int | None:
    """Return the row at the place that a question says; for "next", the one after the row that it names.

    The order is that of the one column of numbers or dates which an adjective measures ("tallest": the height) or whose
    header follows it ("the second most goals"). Of rows that the question names, these alone count; totals do not. None
    if no column or several may be meant, or in a tie.
    """
    asked = _AT_PLACE.search(_plain(question))
    order = None if asked is None else _order(asked["extreme"], asked["of"], table)
    if asked is None or order is None:
        return None
    named = asked_rows(question, table)
    if asked["place"] != "next":
        among = named.rows if named.suffice else range(table.num_rows)
        return _at_place(most_behind_headers(question, table, among), order, table, _PLACES[asked["place"]])
    rows = [row for row, _ in _ranked(range(table.num_rows), order, table)]
    if len(named.rows) != 1 or named.rows[0] not in rows:
        return None
    return _at_place(range(table.num_rows), order, table, rows.index(named.rows[0]) + 2)


def extreme_row(question: str, table: Table) -> int | None:
    """Return the first row of the order that a question asks for one extreme of: "the cheapest", "due first".

    None for the reasons of ``ranked_row``, or if another word of the question may tell rows apart: one that compares
    them, or a part of a cell.
    """
    text = _plain(question)
    asked = (_EXTREME.search(text) if wants_one(text) else None) or _IN_TIME.search(text)
    order = None if asked is None else _order(asked["extreme"], asked["of"], table)
    named = asked_rows(question, table)
    others = named.others if named.rows else frozenset(format_names(question).split())
    if order is None or (named.rows and not named.suffice) or (others & TO_OTHER_ROWS) - {"least"}:
        return None
    if _DIGIT.search(" ".join(stems(others) - stems_of_cells(table.header))) or parts_of_cells(others, table):
        return None
    return _at_place(most_behind_headers(question, table, named.rows or range(table.num_rows)), order, table, 1)


def compared_cell(question: str, table: Table) -> Coordinate | None:
    """Return the name, of two that a question compares, whose row comes first: "which is older, Ann or Bob?".

    None for the reasons of ``ranked_row``, or if the question does not offer two names of one row each.
    """
    text = _plain(question)
    compares = " or " in text and not _NO_COMPARISON.search(text)
    names = asked_rows(question, table).of_names if compares else ()
    rows = sorted({row for of_name in names for row in of_name})
    if len(names) != 2 or len(rows) != 2:
        return None
    for asked in _COMPARED.finditer(text):
        comparative, of = asked["comparative"], " expensive" if asked["costs"] else asked["of"]
        order = _order(_SUPERLATIVES.get(comparative, re.sub("er$", "est", comparative)), of, table)
        if order is not None and (row := _at_place(rows, order, table, 1)) is not None:
            return _named_cell(text, table, row)
    return None


def _named_cell(text: str, table: Table, row: int) -> Coordinate | None:
    """Return the first cell of a row that stands in a question."""
    asked, names = f" {format_names(text)} ", [format_names(cell.text) for cell in table.rows[row]]
    return next(((row, column) for column, name in enumerate(names) if name and f" {name} " in asked), None)


def _at_place(among: Iterable[int], order: _Order, table: Table, place: int) -> int | None:
    """Return the row at a place, from 1; None if there is none, or others have its rank or share one before it."""
    ranked = _ranked(among, order, table)
    ranks = [rank for _, rank in ranked]
    untied = len({*ranks[:place]}) == place and ranks[place - 1 : place] != ranks[place : place + 1]
    return ranked[place - 1][0] if untied else None


def _ranked(among: Iterable[int], order: _Order, table: Table) -> list[tuple[int, int]]:
    """Return rows with their ranks in an order, without empty cells and totals."""
    values = column_values(table)
    ranks = (values.inverse_rank if order.highest_first else values.rank)[:, order.column]
    rows = ((row, int(ranks[row])) for row in among if ranks[row] and not is_total(table.rows[row]))
    return sorted(rows, key=lambda pair: pair[1])


def _order(extreme: str, of: str, table: Table) -> _Order | None:
    """Return the order of the one column that may be meant: of those named, measured by an adjective, or of times."""
    columns = [column for column in sheet_of(table).columns if column.is_ordered]
    named = [column for column in columns if {*words(of)} & stems(words_of(column.name))]
    numbers = [column for column in named if column.kind is ColumnType.NUMBER]
    if extreme in _HIGH | _LOW and len(numbers) == 1:
        first_is_best = {*words_of(numbers[0].name)} & _FIRST_IS_BEST and extreme in ("best", "worst")
        return None if first_is_best else _Order(numbers[0].place, extreme in _HIGH)
    orders = [*_measured(extreme, of, columns)]
    if not orders and extreme in _LATE | _EARLY:
        orders = [_Order(column.place, extreme in _LATE) for column in _times(extreme, named, columns)]
    return orders[0] if len(orders) == 1 else None


def _times(extreme: str, named: Sequence[TypedColumn], columns: Sequence[TypedColumn]) -> list[TypedColumn]:
    """Return the columns of times that may be meant: those named, else all; of several those of beginnings."""
    times = [column for column in named if column.kind in _TIMES]
    if not times:
        kinds = (ColumnType.DATE,) if extreme in ("first", "last") else _TIMES
        times = [column for column in columns if column.kind in kinds]
    begin = [column for column in times if {*words_of(column.name)} & BEGINS]
    return begin if len(times) > 1 else times


def _measured(extreme: str, of: str, columns: Iterable[TypedColumn]) -> Iterable[_Order]:
    """Yield the columns that an adjective alone measures: "tallest", or "most" before "expensive"."""
    wanted = " ".join([extreme, *of.split()[:1]]) if extreme in ("most", "least") else extreme
    for column in columns:
        others = {adjective for other in column.others for word in words_of(other) for adjective in adjectives_of(word)}
        adjectives = scale(column) or (_OF_PRICES if {*words_of(column.name)} & PRICES else ())
        for highest_first, adjective in zip((True, False), adjectives, strict=False):
            if wanted in (most(adjective), _OPPOSITES.get(adjective)) and adjective not in others:
                yield _Order(column.place, highest_first)


def _plain(question: str) -> str:
    return normalize_for_match(question).rstrip(" ?.")
