"""Read the amounts in the cells of a user's table, as people write them: "$1,200", "15 %", "7½ km", "1.200,50", "(30)".

Only users' own tables (``Table.everyday``) are read so; those of the benchmarks are read as the release does
(``mate_cli.tables.text.convert_to_float``), which knows no units and takes each cell by itself. Here the cells
together, or else their column, or else the table, decide whether commas or points are the decimal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache

from mate_cli.system.errors import shown
from mate_cli.tables.table import Cell
from mate_cli.tables.text import is_empty
from mate_cli.tables.units import in_one_unit
from mate_cli.tables.written_amount import WrittenAmount, decimal_mark, number_of, written_amount

_MISSING = ("nan", "null", "none", "na", "n.a.", "<na>", "#n/a")
PRECISION = 400
"""Digits to compute with: more than a sum of such texts has."""

_LEAST_SHARE = 0.7
_DECIMALS = 9


@dataclass(frozen=True)
class Amounts:
    """Numbers of some cells, with the unit that they share.

    Attributes:
        numbers: of the cells that are not empty.
        before, after: the currency before the digits and the unit after them, with the blank between; "" for none.
        scale: how many powers of ten the unit multiplies them by.
    """

    numbers: tuple[Decimal, ...]
    before: str
    after: str
    scale: int

    def plain(self, number: Decimal) -> str:
        """Write a number without the unit, multiplied out if the unit is one of thousands or millions."""
        with localcontext(prec=PRECISION):
            return plain_digits(number.scaleb(self.scale))

    def shown(self, number: Decimal) -> str:
        """Write a number with the unit."""
        digits = plain_digits(number)
        sign = "-" if digits.startswith("-") else ""
        return f"{sign}{self.before}{digits.removeprefix('-')}{self.after}"


def plain_digits(number: Decimal) -> str:
    """Write a number to nine decimals, or with ten digits if it is small: "3", "0.333333333", "0.0000000007"."""
    with localcontext(prec=PRECISION):
        digits = f"{round(number, max(_DECIMALS, _DECIMALS - number.adjusted())):f}" if number else "0"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def plain_text(cell: Cell) -> str:
    """Return a cell's number in plain digits, without its unit; its text where ``Cell.number`` is None."""
    return cell.text if cell.number is None else plain_digits(Decimal(repr(cell.number)))


def has_amount(text: str) -> bool:
    """Return whether a cell is not empty; one that reads "nan" is, as programs write it."""
    return not is_empty(text) and text.strip().lower() not in _MISSING


def is_amount(text: str) -> bool:
    """Return whether a text is a number, perhaps with a currency or a unit."""
    return written_amount(text) is not None


def read_amounts(texts: Sequence[str], *others: Iterable[str]) -> Amounts:
    """Read the amounts of cells, without the empty ones.

    Args:
        others: texts of more and more other cells, the columns and the table: the first that can tells a decimal comma
            from one between thousands, as in "1,200", where the cells themselves do not.

    Raises:
        ValueError: a cell is no amount, their units differ, or they have decimal commas and points; says which.
    """
    found = []
    for text in filter(has_amount, texts):
        if (amount := written_amount(text)) is None:
            raise ValueError(f"{shown(text.strip())} is no number")
        found.append(amount)
    mark = decimal_mark(found)
    for more in others:
        if mark is None:
            mark = _mark_told_by(more)
    unit = in_one_unit(found)
    with localcontext(prec=PRECISION):
        numbers = tuple(number_of(amount, mark == ",") for amount in unit.amounts)
    return Amounts(numbers, unit.before, unit.after, unit.scale)


def read_number(text: str, *others: Iterable[str]) -> Decimal:
    """Return the number of one text, as ``read_amounts``, multiplied out.

    Raises:
        ValueError: the text is no amount.
    """
    amounts = read_amounts([text], *others)
    if not amounts.numbers:
        raise ValueError(f"{shown(text)} is no number")
    with localcontext(prec=PRECISION):
        return amounts.numbers[0].scaleb(amounts.scale)


def numbers_of_columns(columns: Sequence[Sequence[str]]) -> list[list[float | None]]:
    """Return the numbers of a table's cells, column by column.

    A column has numbers if seven tenths of its cells that are not empty are amounts, of one unit and one decimal mark;
    the table tells the mark if the column does not. Other columns have None, as have cells that are no amounts.
    """
    table_mark = cache(lambda: _mark_told_by(text for texts in columns for text in texts))
    return [_column_numbers(texts, table_mark) or [None] * len(texts) for texts in columns]


def numbered_cells(rows: Sequence[Sequence[str]]) -> tuple[tuple[Cell, ...], ...]:
    """Return the cells of a table's body with their numbers, for a ``Table`` that is ``everyday``."""
    numbers = zip(*numbers_of_columns(list(zip(*rows, strict=True))), strict=True)
    return tuple(
        tuple(Cell(text, number=number) for text, number in zip(*row, strict=True))
        for row in zip(rows, numbers, strict=True)
    )


def _column_numbers(texts: Sequence[str], table_mark: Callable[[], str | None]) -> list[float | None] | None:
    amounts: dict[int, WrittenAmount] = {}
    words, most_words = 0, (1 - _LEAST_SHARE) * len(texts)
    for row, text in enumerate(texts):
        if (amount := written_amount(text)) is not None:
            amounts[row] = amount
        elif has_amount(text) and (words := words + 1) > most_words:  # a column of words needs no more reading
            return None
    if len(amounts) < _LEAST_SHARE * (len(amounts) + words):
        return None
    try:
        unit = in_one_unit(list(amounts.values()))
        marked = list(filter(_is_marked, unit.amounts))
        has_comma = bool(marked) and (decimal_mark(marked) or table_mark()) == ","
        with localcontext(prec=PRECISION):
            numbers = [float(number_of(amount, has_comma).scaleb(unit.scale)) for amount in unit.amounts]
    except ValueError:
        return None
    of_row = dict(zip(amounts, numbers, strict=True))
    return [of_row.get(row) for row in range(len(texts))]


def _is_marked(amount: WrittenAmount) -> bool:
    return "," in amount.digits or "." in amount.digits


def _mark_told_by(texts: Iterable[str]) -> str | None:
    """Return the decimal mark that some texts tell, None if they have none or both."""
    with suppress(ValueError):
        return decimal_mark(filter(None, map(written_amount, texts)))
    return None
