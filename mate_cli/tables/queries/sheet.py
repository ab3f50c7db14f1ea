"""A table as questions see it: columns with a clear name, whose cells are all numbers, all dates or texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from functools import cached_property, lru_cache
from itertools import pairwise

from mate_cli.tables.everyday_values import values_of_column
from mate_cli.tables.queries.headers import names_no_years
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text import convert_to_float, is_empty, normalize_for_match
from mate_cli.tables.values import Date, Value, find_values

Key = str | float
"""The value of a cell as SQL compares it: a number, a date as YYYY-MM-DD, or a text in lower case."""

MIN_ROWS, MIN_COLUMNS, MAX_CELLS = 3, 2, 1000
_MAX_NAME = 40  # characters
_MIN_DISTINCT = 0.6
_NUMBER = re.compile(r"([$£€]?)([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s?(%|[a-zA-Z]{0,6})")
CURRENCY = re.compile(r"[$£€]")
_ORDINALS = {"st", "nd", "rd", "th"}
_MAX_DIGITS = 15  # a float of Python and SQLite tells apart all whole numbers of so many digits
_CODE = re.compile(r"0\d")  # 007 is a name, 0.5 a number
_BLANKS = {"na", "tba", "tbd", "tbc", "none", "unknown", "notavailable", "notapplicable", "tobeannounced"}
_MARK = re.compile(r"[\W_]+")
# Blanks around the marks of a date: "december 2 , 2001", "2013 - 06 - 27".
_APART = re.compile(r"\s+(?=,)|(?<=\d)\s+(?=-\s*\d)|(?<=\d-)\s+(?=\d)|(?<=\d -)\s+(?=\d)")
_TOTAL = re.compile(r"(?:(?:grand|sub|overall|career|season) ?-? ?)?totals? ?[:.]?(?: ?[(\[].*)?", re.IGNORECASE)
_SUMMARY = re.compile(r"\w+ totals?|averages?|sum|overall|career|mean|median|all", re.IGNORECASE)
_YEARS = range(1000, 2101)
CODES = ("id", "code", "ref", "tag", "key", "no.", "number")
"""Headers of codes, in lower case."""

_OF_PERSONS = {
    "nationality",
    "born",
    "birth",
    "college",
    "party",
    "occupation",
    "spouse",
    "hometown",
    "gender",
    "weight",
}


def is_blank(text: str) -> bool:
    """Return whether a cell says nothing: empty, marks alone, or a placeholder as "n / a" or "TBA"."""
    return is_empty(text) or _MARK.sub("", text.lower()) in _BLANKS


class ColumnType(Enum):
    """Type of a column. Years are numbers that are not added up."""

    TEXT = "text"
    NUMBER = "number"
    YEAR = "year"
    DATE = "date"


def with_things_only(table: Table) -> Table:
    """Return a table without rows that are no things to ask about: totals, averages, headings between the others.

    The table itself, if it would have too few rows, or a third of its rows seem to be such ones; ``Sheet.problem`` then
    says so of totals.
    """
    header = [normalize_for_match(cell.text) for cell in table.header]
    rows = tuple(row for row in table.rows if not (is_total(row) or _is_heading(row, header)))
    is_plausible = len(rows) >= MIN_ROWS and len(rows) > len(table.rows) * 2 / 3
    return replace(table, rows=rows) if is_plausible and len(rows) < len(table.rows) else table


def is_total(row: Sequence[Cell]) -> bool:
    """Return whether a cell of a row says that it is a total, or its first says that it is an average."""
    texts = [text for cell in row if (text := " ".join(cell.text.split()))]
    return any(map(_TOTAL.fullmatch, texts)) or any(map(_SUMMARY.fullmatch, texts[:1]))


def _is_heading(row: Sequence[Cell], header: Sequence[str]) -> bool:
    """Return whether a row is the header again, or one text in each of three columns or more."""
    texts = [normalize_for_match(cell.text) for cell in row]
    return texts == header or (len(texts) > 2 and len({*texts}) == 1)


@dataclass(frozen=True, slots=True, eq=False)
class TypedColumn:
    """A column.

    Attributes:
        place: number of the column, from 0; name: its header on one line.
        keys: key of each row; None for an empty cell.
        texts: text of each row, on one line.
        is_among_persons: whether the table has a column that only people have, as nationality.
        others: headers of the other columns, on one line, also of those that no question is about.
        in_currency: whether the cells are amounts of money that operators compute with, as in users' own tables.
    """

    place: int
    name: str
    kind: ColumnType
    keys: tuple[Key | None, ...]
    texts: tuple[str, ...]
    is_among_persons: bool = False
    others: tuple[str, ...] = ()
    in_currency: bool = False

    @property
    def is_ordered(self) -> bool:
        return self.kind is not ColumnType.TEXT

    @property
    def adds_up(self) -> bool:
        """Return whether every cell is a number that operators compute with: a plain one, or an amount of money."""
        present = [text for text, key in zip(self.texts, self.keys, strict=True) if key is not None]
        return self.kind is ColumnType.NUMBER and (self.in_currency or all(map(_is_plain, present)))

    @property
    def subtracts(self) -> bool:
        """Return whether every cell is a number that operators compute with, or a year."""
        return self.adds_up or self.kind is ColumnType.YEAR

    @property
    def is_sorted(self) -> bool:
        """Return whether no key is less than one above it."""
        present = [key for key in self.keys if key is not None]
        return present == sorted(present)

    @property
    def is_numbering(self) -> bool:
        """Return whether the cells are whole numbers without a gap or a repeat, in any order, or ordinals."""
        if all(text[-2:].lower() in _ORDINALS for text, key in zip(self.texts, self.keys, strict=True) if key):
            return True
        keys = sorted(key for key in self.keys if isinstance(key, float))
        is_long = len(keys) > 4 or keys[0] == 1  # a few ages may follow each other by chance
        return is_long and all(after - before == 1 for before, after in pairwise(keys)) and keys[0].is_integer()

    @property
    def distinct(self) -> float:
        """Share of the rows that have a value of their own."""
        counts = Counter(key for key in self.keys if key is not None)
        return sum(count == 1 for count in counts.values()) / len(self.keys)


class Sheet:
    """A table with typed columns.

    Attributes:
        columns: columns with a name that no other column has, at most 40 characters.
        subject: the column that tells rows apart: the first of texts, otherwise the first, in which most values are
            distinct, codes after names; None if there is none.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        names = [" ".join(cell.text.split()) for cell in table.header]
        counts = Counter(map(normalize_for_match, names))
        cells = [*zip(*table.rows, strict=True)]
        persons = any(_OF_PERSONS & {*normalize_for_match(name).split()} for name in names)
        self.columns = tuple(
            replace(
                _column(place, name, cells[place], table.everyday),
                is_among_persons=persons,
                others=(*names[:place], *names[place + 1 :]),
            )
            for place, name in enumerate(names)
            if counts[normalize_for_match(name)] == 1 and not is_empty(name) and len(name) <= _MAX_NAME
        )
        distinct = [column for column in self.columns if column.distinct >= _MIN_DISTINCT]
        texts_first = sorted(distinct, key=lambda column: (column.kind is not ColumnType.TEXT, _is_code(column)))
        self.subject = next(iter(texts_first), None)

    @property
    def problem(self) -> str:
        """Why no question can be asked about the table; "" if some can."""
        if self.table.num_rows < MIN_ROWS:
            return f"fewer than {MIN_ROWS} rows"
        if self.table.num_rows * self.table.num_columns > MAX_CELLS:
            return f"more than {MAX_CELLS:,} cells"
        if len(self.columns) < MIN_COLUMNS:
            return f"fewer than {MIN_COLUMNS} columns with a clear name"
        if any(map(is_total, self.table.rows)):  # ``with_things_only`` could not leave them out
            return "totals among few other rows"
        return "" if self.subject is not None else "no column that tells rows apart"

    @cached_property
    def places(self) -> dict[str, set[int]]:
        """Text in lower case -> the columns of the table that have it."""
        places: dict[str, set[int]] = {}
        for row in self.table.rows:
            for column, cell in enumerate(row):
                places.setdefault(normalize_for_match(cell.text), set()).add(column)
        return places


@lru_cache(maxsize=8)  # several rules look at the table of one question
def sheet_of(table: Table) -> Sheet:
    """Return the table with typed columns."""
    return Sheet(table)


def _is_code(column: TypedColumn) -> bool:
    """Return whether a column has codes of things, which people seldom call them by."""
    return column.name.lower() in CODES and all(any(map(str.isdecimal, text)) for text in column.texts)


def _column(place: int, name: str, cells: Sequence[Cell], everyday: bool) -> TypedColumn:
    texts = tuple(" ".join(cell.text.split()) for cell in cells)
    kind, keys = ColumnType.TEXT, [None if is_blank(text) else normalize_for_match(text) for text in texts]
    typed: list[Key | None] = [*keys]
    present = [cell for cell, key in zip(cells, keys, strict=True) if key is not None]
    amounts = _amounts(present) if everyday and len(present) > 1 else None
    if len(present) > 1:
        kind, values = (ColumnType.NUMBER, amounts) if amounts is not None else _typed(name, present, everyday)
        if values is not None:
            filled = iter(values)
            typed = [None if key is None else next(filled) for key in keys]
    return TypedColumn(place, name, kind, tuple(typed), texts, in_currency=amounts is not None)


def _typed(name: str, cells: list[Cell], everyday: bool) -> tuple[ColumnType, Sequence[Key] | None]:
    """Return the type of a column without its empty cells, and the keys if it is not text."""
    texts = [" ".join(cell.text.split()) for cell in cells]
    if (values := _numbers(texts)) is not None:
        are_years = all(text.isdecimal() and len(text) == 4 and int(text) in _YEARS for text in texts)
        return (ColumnType.YEAR if are_years and not names_no_years(name) else ColumnType.NUMBER), values
    found = values_of_column(cells) if everyday else [find_values(_APART.sub("", text)) for text in texts]
    if (days := _dates(found)) is not None:
        return ColumnType.DATE, days
    return ColumnType.TEXT, None


def _amounts(cells: Sequence[Cell]) -> list[float] | None:
    """Read amounts of money in one currency: "$1,250.00", "$1.2M"; None for other texts."""
    numbers = [cell.number for cell in cells if cell.number is not None and CURRENCY.search(cell.text)]
    return numbers if len(numbers) == len(cells) else None


def _numbers(texts: list[str]) -> list[float] | None:
    """Read numbers that all have the same unit, or are ordinals; None for other texts and for codes as 007."""
    matches = [match for text in texts if (match := _NUMBER.fullmatch(text)) and _is_number(match[2])]
    units = {(match[1], match[3].lower()) for match in matches}
    if len(matches) < len(texts) or (len(units) > 1 and not {unit for _, unit in units} <= _ORDINALS):
        return None
    return [float(match[2].replace(",", "")) for match in matches]


def _is_number(digits: str) -> bool:
    return _CODE.match(digits) is None and sum(map(str.isdecimal, digits)) <= _MAX_DIGITS


def _dates(found: Sequence[tuple[Value, ...]]) -> list[str] | None:
    """Return the days of cells with these values; None if one is no whole date."""
    days = []
    for values in found:
        if len(values) != 1 or not isinstance(values[0], Date) or None in values[0]:
            return None
        days.append(date(*(field or 0 for field in values[0])).isoformat())
    return days


def _is_plain(text: str) -> bool:
    try:
        return convert_to_float(text) == float(text.replace(",", ""))
    except ValueError:
        return False
