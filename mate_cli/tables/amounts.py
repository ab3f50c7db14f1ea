"""Read the amounts in the cells of a user's table, as people write them: "$1,200", "15 %", "3.5 km", "1.200,50".

For answers to people alone: scores read numbers as the release does (``mate_cli.tables.text.convert_to_float``), which
knows no currencies and units, and takes each cell by itself. Here the cells together, or else their column, decide
whether commas or points are the decimal ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext

from mate_cli.system.errors import shown
from mate_cli.tables.number_words import MONTH_NUMBERS
from mate_cli.tables.text import is_empty

_CURRENCY = "".join(mark for mark in map(chr, range(1 << 16)) if unicodedata.category(mark) == "Sc")
_BLANK = " \u00a0\u202f\u2009"  # with those that do not break a line, and the thin one
_AMOUNT = re.compile(
    rf"(?P<sign>[-+])?(?P<before>(?:(?:[A-Z]{{1,3}})?[{_CURRENCY}]|[A-Z]{{3}})[{_BLANK}]?)?(?P<inner>[-+])?"
    rf"(?P<digits>\d[\d.,'{_BLANK}]*(?<![{_BLANK}'])|[.,]\d+)(?P<power>[eE][-+]?\d{{1,2}})?"
    rf"(?P<after>[{_BLANK}]?(?:[%‰°{_CURRENCY}]|[^\W\d_])[^\d.,]*)?"
)
_LONGEST = 100  # characters; longer texts are no amounts
_NO_UNITS = {"st", "nd", "rd", "th", *MONTH_NUMBERS}
_MISSING = ("nan", "null", "none")

_GROUPED = re.compile(rf"\d{{1,3}}(?:['{_BLANK}]\d{{3}})+(?=[.,]|$)")
_PLAIN = re.compile(r"(?:\d+|\d{1,3}(?:,\d{2,3})*,\d{3})?(?:\.\d*)?")  # commas as in India too: 12,34,567
PRECISION = 400
"""Digits to compute with: more than a sum of such texts has."""

_DECIMALS = 9
_SWAPPED = str.maketrans(".,", ",.")


@dataclass(frozen=True)
class Amounts:
    """Numbers of some cells, with the unit that they share.

    Attributes:
        numbers: of the cells that are not empty.
        before, after: the currency before the digits and the unit after them, with the blank between; "" for none.
    """

    numbers: tuple[Decimal, ...]
    before: str
    after: str

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


def has_amount(text: str) -> bool:
    """Return whether a cell is not empty; one that reads "nan" is, as programs write it."""
    return not is_empty(text) and text.strip().lower() not in _MISSING


def is_amount(text: str) -> bool:
    """Return whether a text is a number, perhaps with a currency or a unit."""
    return _match(text.strip()) is not None


def read_amounts(texts: Sequence[str], column: Iterable[str]) -> Amounts:
    """Read the amounts of cells, without the empty ones.

    Args:
        column: the texts of all cells of their columns: they tell a decimal comma from one between thousands, as in
            "1,200", where the cells themselves do not.

    Raises:
        ValueError: a cell is no amount, their units differ, or they have decimal commas and points; says which.
    """
    filled = [text.strip() for text in texts if has_amount(text)]
    matches = [_match(text) for text in filled]
    for text, match in zip(filled, matches, strict=True):
        if match is None:
            raise ValueError(f"{shown(text)} is no number")
    found = [match for match in matches if match is not None]
    mark = _decimal_mark(filled)
    if mark is None:
        with suppress(ValueError):  # a column of both tells nothing
            mark = _decimal_mark(column)
    with localcontext(prec=PRECISION):
        numbers = tuple(_number(match, mark == ",") for match in found)
    units = [_unit(match) for match in found]
    return Amounts(numbers, _common([before for before, _ in units]), _common([after for _, after in units]))


def _match(text: str) -> re.Match[str] | None:
    match = _AMOUNT.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or (match["sign"] and match["inner"]):
        return None
    words = (match["after"] or "").lower().split()
    if any(word.strip(".") in _NO_UNITS for word in words) or _ungrouped(match["digits"]) is None:
        return None
    return match


def _ungrouped(digits: str) -> str | None:
    """Return digits without blanks and apostrophes between thousands; None if they are elsewhere."""
    if not re.search(rf"['{_BLANK}]", digits):
        return digits
    grouped = _GROUPED.match(digits)
    rest = "" if grouped is None else digits[grouped.end() :]
    if grouped is None or not re.fullmatch(r"(?:[.,]\d*)?", rest):
        return None
    return re.sub(rf"['{_BLANK}]", "", grouped.group()) + rest


def _decimal_mark(texts: Iterable[str]) -> str | None:
    """Return "," or "." if one of the texts can only be read with it as the decimal mark, else None.

    Raises:
        ValueError: one can only be read with a comma, another with a point.
    """
    by_comma: str | None = None
    by_point: str | None = None
    for text in texts:
        match = _match(text.strip())
        digits = None if match is None else _ungrouped(match["digits"])
        if digits is None or not re.search("[.,]", digits):
            continue
        with_points, with_commas = _is_plain(digits), _is_plain(digits.translate(_SWAPPED))
        if with_commas and not with_points:
            by_comma = by_comma or text.strip()
        if with_points and not with_commas:
            by_point = by_point or text.strip()
    if by_comma is not None and by_point is not None:
        raise ValueError(f"{shown(by_comma)} has a decimal comma, {shown(by_point)} a decimal point")
    return "," if by_comma is not None else "." if by_point is not None else None


def _is_plain(digits: str) -> bool:
    """Return whether digits are a number by English marks; no number above 999 begins with 0 before its first comma."""
    return _PLAIN.fullmatch(digits) is not None and re.match("0+,", digits) is None


def _number(match: re.Match[str], has_comma: bool) -> Decimal:
    digits = _ungrouped(match["digits"]) or ""
    plain = digits.translate(_SWAPPED) if has_comma else digits
    if not _is_plain(plain):
        raise ValueError(f"{shown(match.string)} is no number")
    sign = match["sign"] or match["inner"] or ""
    return Decimal(sign + plain.replace(",", "") + (match["power"] or ""))


def _unit(match: re.Match[str]) -> tuple[str, str]:
    return match["before"] or "", (match["after"] or "").rstrip()


def _common(units: Sequence[str]) -> str:
    """Return the unit of all that have one, as the longest of them is written: "years" of "year" and "years".

    Raises:
        ValueError: there are several.
    """
    given = {unit.strip(): unit for unit in units if unit}
    kinds = {name.lower().removesuffix("s") or name for name in given}
    if len(kinds) > 1:
        raise ValueError(f"the units differ: {' and '.join(sorted(given)[:2])}")
    return max(given.values(), key=len, default="")
