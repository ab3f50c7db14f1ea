"""Draw the parts of questions about a table: rows by their values, conditions, columns that can answer."""

from __future__ import annotations

import re
from calendar import month_name
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.ranges import Between, During
from mate_cli.tables.queries.rows import All, Both, RowSet, Where
from mate_cli.tables.queries.scales import measured, scale
from mate_cli.tables.queries.sheet import CURRENCY, ColumnType, Key, Sheet, TypedColumn, is_blank
from mate_cli.tables.queries.wording import Phrase, between, condition
from mate_cli.tables.queries.words import Noun, is_flag, is_label, is_named, is_place, is_time, mention, noun
from mate_cli.tables.text import normalize_for_match

_T = TypeVar("_T")
Condition = Where | During | Between
MAX_LISTED = 12
"""Rows that a question may ask to list."""

_MAX_TEXT = 80  # characters of a value or an answer
_MAX_MENTION = 40
_MEASURED = 0.8
_FLAGGED = 0.6
_BY_MONTH, _BY_YEAR = 0.35, 0.6
_BETWEEN = 0.15
_MILLION = 1_000_000
_DOUBLED = re.compile(r"\b([a-z]{4,}?)s? (?:of (?:the |all )?|the |for )?\1s?\b|\bof of\b")


class UnclearError(Exception):
    """The table has nothing to make this question of, or more than one answer to it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words, its kind, and the query that answers it."""

    kind: str
    text: str
    query: SqlQuery


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws about one table.

    Raises:
        UnclearError: in all methods, if there is nothing to draw from.
    """

    sheet: Sheet
    random: Random

    def happens(self, chance: float) -> bool:
        return self.random.random() < chance

    def choice(self, items: Sequence[_T]) -> _T:
        if not items:
            raise UnclearError
        return self.random.choice(items)

    @property
    def subject(self) -> TypedColumn:
        assert self.sheet.subject is not None
        return self.sheet.subject

    def name(self, column: TypedColumn) -> Noun:
        return noun(column, self.random)

    def column(self, *others: TypedColumn, ordered: bool = False) -> TypedColumn:
        """Return a column besides ``others``; with ``ordered``, one whose values have an order that means something.

        People compare what an adjective measures more often than other columns.
        """
        rest = [column for column in self.sheet.columns if column not in others]
        if ordered:
            rest = [column for column in rest if column.is_ordered and not is_label(column)]
            compared = measured(rest)
            rest = compared if compared and self.happens(_MEASURED) else rest
        return self.choice(rest)

    def answering(self, *others: TypedColumn) -> TypedColumn:
        """Return a column that can answer "which": mostly the subject, otherwise one of texts or times."""
        if self.subject not in others and self.happens(0.75):
            return self.subject
        columns = [column for column in self.sheet.columns if column not in others and not is_flag(column)]
        return self.choice([column for column in columns if column.kind is ColumnType.TEXT or is_time(column)])

    def row(self, column: TypedColumn) -> tuple[int, Where, str]:
        """Return a row, a condition on ``column`` that only it meets, and a mention that is in no other column."""
        row = self.random.randrange(self.sheet.table.num_rows)
        key, text = column.keys[row], column.texts[row]
        places = self.sheet.places.get(normalize_for_match(text), set())
        if key is None or column.keys.count(key) > 1 or len(places) > 1 or len(text) > _MAX_MENTION:
            raise UnclearError
        return row, Where(column, "=", key), mention(column, row, self.sheet, self.random)

    @staticmethod
    def key(column: TypedColumn, row: int) -> Key:
        """Return what a cell compares by, if it is not empty."""
        if (key := column.keys[row]) is None:
            raise UnclearError
        return key

    def condition(
        self, *others: TypedColumn, sign: str | None = None, several: bool = False
    ) -> tuple[Condition, Phrase]:
        """Return a condition on a column besides ``others`` that some rows meet, but not all.

        Args:
            sign: how a cell compares; None: drawn.
            several: the rows have a value in common.
        """
        if several:
            column, row = self.choice([c for c in self._shared_cells() if c[0] not in others])
            sign = "="
        else:
            column, row = self._telling(*others), self.random.randrange(self.sheet.table.num_rows)
        key, text = column.keys[row], column.texts[row]
        if key is None or len(text) > _MAX_MENTION:
            raise UnclearError
        if sign is None and column.is_ordered and not is_label(column) and self.happens(_BETWEEN):
            return self._between(column, row)
        sign = sign or self._sign(column)
        if sign == "!=" and None in column.keys:  # a row with an empty cell "did not have" the value either
            raise UnclearError
        words = mention(column, row, self.sheet, self.random)
        if sign[0] in "<>" and column.kind is ColumnType.NUMBER and isinstance(key, float) and self.happens(0.5):
            currency = CURRENCY.search(text) if column.in_currency else None
            key, words = _rounded(key, words, "" if currency is None else currency.group())
        where: Condition = Where(column, sign, key)
        if column.kind is ColumnType.DATE and sign == "=" and self.happens(_BY_MONTH):
            where, words = _in_month(column, str(key), with_year=self.happens(0.5))
        elif column.kind is ColumnType.DATE and sign != "!=" and self.happens(_BY_YEAR):
            where, words = _in_years(column, sign, str(key))
        if not 0 < len(where.numbers(self.sheet)) < self.sheet.table.num_rows:
            raise UnclearError
        phrase = condition(column, sign, words, self.needs_name(column, words), self.scale(column), self.random)
        return where, phrase

    def _between(self, column: TypedColumn, row: int) -> tuple[Between, Phrase]:
        """Return a condition with two limits, the values of two rows, or their years."""
        other = self.random.randrange(self.sheet.table.num_rows)
        (least, low), (most, high) = sorted((self.key(column, place), place) for place in (row, other))
        words = [mention(column, place, self.sheet, self.random) for place in (low, high)]
        if column.kind is ColumnType.DATE:
            words = [str(key)[:4] for key in (least, most)]
            least, most = f"{words[0]}-01-01", f"{words[1]}-12-31"
        where = Between(column, least, most)
        if words[0] == words[1] or not 0 < len(where.numbers(self.sheet)) < self.sheet.table.num_rows:
            raise UnclearError
        return where, between(column, words[0], words[1], self.needs_name(column), self.random)

    def _telling(self, *others: TypedColumn) -> TypedColumn:
        """Return a column besides ``others``, oftener than others one of yes and no: it has hardly another use."""
        flags = [column for column in self.sheet.columns if is_flag(column) and column not in others]
        return self.choice(flags) if flags and self.happens(_FLAGGED) else self.column(*others)

    def _shared_cells(self) -> list[tuple[TypedColumn, int]]:
        """Return the columns and rows of the cells whose value other rows have too."""
        columns = ((column, Counter(column.keys)) for column in self.sheet.columns)
        return [(column, row) for column, count in columns for row, key in enumerate(column.keys) if count[key] > 1]

    def scale(self, column: TypedColumn) -> tuple[str, str] | None:
        """Return the adjectives of a high and a low value, if the rows are things with names: no date is tall."""
        return scale(column) if is_named(self.subject) else None

    def _sign(self, column: TypedColumn) -> str:
        compares = column.is_ordered and not is_label(column) and self.happens(0.6)
        return self.random.choice((">", ">", "<", "<", ">=", "<=")) if compares else "="

    def needs_name(self, column: TypedColumn, text: str = "") -> bool:
        """Return whether a question must name a column: another has the text too, in some cell, or is one of times or
        places as it is.
        """
        is_alike = is_time if is_time(column) else is_place
        others = [other for other in self.sheet.columns if other is not column]
        return any(map(is_alike, others)) or (bool(text) and self.is_elsewhere(column, text))

    def is_elsewhere(self, column: TypedColumn, text: str) -> bool:
        """Return whether a cell of another column has a text in lower case as its words, or among them."""
        whole = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
        found = (places for other, places in self.sheet.places.items() if text in other and whole.search(other))
        return any(places - {column.place} for places in found)

    def conditions(self, *others: TypedColumn) -> tuple[RowSet, Phrase]:
        """Return two conditions on different columns, each of which leaves out rows that meet the other."""
        first, words = self.condition(*others)
        second, more = self.condition(*others, first.column)
        both = Both(first, second)
        if len(both.numbers(self.sheet)) in (0, len(first.numbers(self.sheet)), len(second.numbers(self.sheet))):
            raise UnclearError
        return both, Phrase(f"{words.verb} and {more.verb}", f"{words.attribute} and {more.attribute}")

    def follows_time(self) -> bool:
        """Return whether the table tells that each row is later than the one before, and nothing else."""
        times, rows = [*filter(is_time, self.sheet.columns)], self.sheet.table.num_rows
        has_each = any(len({*column.keys} - {None}) == rows for column in times)
        return has_each and all(column.is_sorted for column in times)

    def asked(self, kind: str, text: str, query: SqlQuery, single: bool = True, repeated: bool = False) -> Question:
        """Return the question if its answer is clear.

        Args:
            single: it is one cell that no other row has; otherwise several cells that differ are an answer too.
            repeated: it is one text, which several cells have.
        """
        texts = [self.sheet.table.rows[row][column].text for row, column in query.cells(self.sheet)]
        is_clear = texts and not any(is_blank(text) or len(text) > _MAX_TEXT for text in texts)
        different = len(set(map(normalize_for_match, texts)))
        if not is_clear or (single and different > 1) or (not repeated and different < len(texts)):
            raise UnclearError
        return asking(kind, text, query)

    def alone(self, column: TypedColumn, rows: RowSet) -> SqlQuery:
        """Return the query for one row whose cell no other row of the table has."""
        numbers = rows.numbers(self.sheet)
        if len(numbers) != 1 or column.keys.count(column.keys[numbers[0]]) > 1:
            raise UnclearError
        return SqlQuery(column, rows)


def asking(kind: str, text: str, query: SqlQuery) -> Question:
    """Return a question, if no word of a header doubles one of the wording: "the number of numbers".

    Raises:
        UnclearError: one does.
    """
    if _DOUBLED.search(text):
        raise UnclearError
    return Question(kind, text, query)


ALL = All()


def _in_month(column: TypedColumn, day: str, with_year: bool) -> tuple[During, str]:
    """Return the condition on a column of days that names a month, of one year or of any, and its name."""
    year, month = day[:4], day[5:7]
    name = month_name[int(month)].lower()
    return (During(column, year, month), f"{name} {year}") if with_year else (During(column, None, month), name)


def _in_years(column: TypedColumn, sign: str, day: str) -> tuple[Where | During, str]:
    """Return the condition on a column of days that names a year alone, and the year."""
    year = day[:4]
    if sign == "=":
        return During(column, year), year
    return Where(column, sign, f"{year}-12-31" if sign in (">", "<=") else f"{year}-01-01"), year


def _rounded(key: float, words: str, currency: str) -> tuple[float, str]:
    """Round a number from 20 down to one digit and zeros, as people choose limits; money also in millions."""
    if key < 20:
        return key, words
    unit = 10 ** (len(f"{int(key)}") - 1)
    rounded = key // unit * unit
    if currency and rounded >= _MILLION:
        return rounded, f"{currency}{rounded / _MILLION:g} million"
    return rounded, f"{currency}{rounded:,.0f}" if currency else f"{rounded:.0f}"
