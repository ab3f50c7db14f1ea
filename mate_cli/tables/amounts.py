"""Read the amounts in the cells of a user's table, as people write them: "$1,200", "15 %", "7½ km", "1.200,50", "(30)".

Tables of the benchmarks are read as the release does (``mate_cli.tables.text.convert_to_float``), which knows no
currencies and units, and takes each cell by itself. Here the cells together, or else their column, or else the table,
decide whether commas or points are the decimal ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import NamedTuple

from mate_cli.system.errors import shown
from mate_cli.tables.number_words import MONTH_NUMBERS
from mate_cli.tables.table import Cell
from mate_cli.tables.text import is_empty

_CURRENCY = "".join(mark for mark in map(chr, range(1 << 16)) if unicodedata.category(mark) == "Sc")
_FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"
_BLANK = " \u00a0\u202f\u2009"  # with those that do not break a line, and the thin one
_CODE = re.compile(rf"(?:[A-Z]{{1,3}})?[{_CURRENCY}]|[A-Z]{{3}}|(?:Rs|kr|Fr)\.?")  # of a currency: US$, EUR
_WORD = re.compile(r"[^\W\d_]+")
_AMOUNT = re.compile(
    rf"(?P<sign>[-+])?(?P<before>(?:{_CODE.pattern})[{_BLANK}]?)?(?P<inner>[-+])?"
    rf"(?P<digits>\d[\d.,'{_BLANK}]*(?<![{_BLANK}'])|[.,]\d+|(?=[{_FRACTIONS}]))"
    rf"(?:(?P<power>[eE][-+]?\d{{1,2}})|[{_BLANK}]?(?P<fraction>[{_FRACTIONS}]))?"
    rf"(?P<after>[{_BLANK}]?(?:[%‰°{_CURRENCY}]|[^\W\d_])[^\d.,]*(?:(?<=m)[23])?)?"  # km2
)
_LOSS = re.compile(rf"((?:{_CODE.pattern})?)[{_BLANK}]?\((.+)\)")  # as accountants write -30: (30), $ (30)
_NO_CENTS = re.compile(rf",[-–—](?=[{_BLANK}]?[{_CURRENCY}]?$)")  # 5,- €
_DIGITS = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_LONGEST = 100  # characters; longer texts are no amounts
_NO_UNITS = {"st", "nd", "rd", "th", *MONTH_NUMBERS}
_MISSING = ("nan", "null", "none", "na", "n.a.", "<na>", "#n/a")
_SCALES = {"k", "K", "M", "B", "bn", "Bn", "tn", "mn", "Mn", "Mio", "Mrd", "Tsd", "lakh", "crore"}
_SCALE_WORDS = ("hundred", "thousand", "million", "billion", "trillion")

_GROUPED = re.compile(rf"\d{{1,3}}(?:['{_BLANK}]\d{{3}})+(?=[.,]|$)")
_PLAIN = re.compile(r"(?:\d+|\d{1,3}(?:,\d{2,3})*,\d{3})?(?:\.\d*)?")  # commas as in India too: 12,34,567
PRECISION = 400
"""Digits to compute with: more than a sum of such texts has."""

_LEAST_SHARE = 0.7
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


def plain_text(cell: Cell) -> str:
    """Return a cell's number in plain digits, without its unit; its text where ``Cell.number`` is None."""
    return cell.text if cell.number is None else plain_digits(Decimal(repr(cell.number)))


def has_amount(text: str) -> bool:
    """Return whether a cell is not empty; one that reads "nan" is, as programs write it."""
    return not is_empty(text) and text.strip().lower() not in _MISSING


def is_amount(text: str) -> bool:
    """Return whether a text is a number, perhaps with a currency or a unit."""
    return _written(text) is not None


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
        if (amount := _written(text)) is None:
            raise ValueError(f"{shown(text.strip())} is no number")
        found.append(amount)
    mark = _decimal_mark(found)
    for more in others:
        if mark is None:
            mark = _decimal_mark_of(more)
    with localcontext(prec=PRECISION):
        numbers = tuple(_number(amount, mark == ",") for amount in found)
    return Amounts(numbers, *_shared_unit(found))


def read_number(text: str, *others: Iterable[str]) -> Decimal:
    """Return the number of one text, as ``read_amounts``.

    Raises:
        ValueError: the text is no amount.
    """
    if not (numbers := read_amounts([text], *others).numbers):
        raise ValueError(f"{shown(text)} is no number")
    return numbers[0]


def numbers_of_columns(columns: Sequence[Sequence[str]]) -> list[list[float | None]]:
    """Return the numbers of a table's cells, column by column.

    A column has numbers if seven tenths of its cells that are not empty are amounts, of one unit and one decimal mark;
    the table tells the mark if the column does not. Other columns have None, as have cells that are no amounts.
    """
    table_mark = cache(lambda: _decimal_mark_of(text for texts in columns for text in texts))
    return [_column_numbers(texts, table_mark) or [None] * len(texts) for texts in columns]


def _column_numbers(texts: Sequence[str], table_mark: Callable[[], str | None]) -> list[float | None] | None:
    amounts: dict[int, _Written] = {}
    words, most_words = 0, (1 - _LEAST_SHARE) * len(texts)
    for row, text in enumerate(texts):
        if (amount := _written(text)) is not None:
            amounts[row] = amount
        elif has_amount(text) and (words := words + 1) > most_words:  # a column of words needs no more reading
            return None
    if len(amounts) < _LEAST_SHARE * (len(amounts) + words):
        return None
    try:
        _shared_unit(amounts.values())
        marked = list(filter(_is_marked, amounts.values()))
        has_comma = bool(marked) and (_decimal_mark(marked) or table_mark()) == ","
        with localcontext(prec=PRECISION):
            numbers = {row: float(_number(amount, has_comma)) for row, amount in amounts.items()}
    except ValueError:
        return None
    return [numbers.get(row) for row in range(len(texts))]


def _is_marked(amount: _Written) -> bool:
    return "," in amount.digits or "." in amount.digits


def _decimal_mark_of(texts: Iterable[str]) -> str | None:
    """Return the decimal mark that some texts tell, None if they have none or both."""
    with suppress(ValueError):
        return _decimal_mark(filter(None, map(_written, texts)))
    return None


class _Written(NamedTuple):
    """The parts of an amount's text; of ``digits`` what is between thousands is left out, but for commas and points."""

    text: str
    sign: str
    before: str
    digits: str
    power: str
    fraction: str
    after: str


def _written(text: str) -> _Written | None:
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    if len(text) > _LONGEST:
        return None
    if _DIGITS.fullmatch(text):  # most numbers; what follows takes ten times as long
        return _Written(text, "", "", text, "", "", "")
    loss = _LOSS.fullmatch(text)
    is_loss = loss is not None
    match = _AMOUNT.fullmatch(_NO_CENTS.sub(",00", "".join(loss.groups()) if loss else text))
    if match is None or bool(match["sign"]) + bool(match["inner"]) + is_loss > 1:
        return None
    digits, before, after = _ungrouped(match["digits"]), match["before"] or "", match["after"] or ""
    if digits is None or any(word.strip(".") in _NO_UNITS for word in f"{before} {after}".lower().split()):
        return None
    if after.strip()[:1].isnumeric():  # 12¹ has a footnote, or is a power
        return None
    sign = "-" if is_loss else match["sign"] or match["inner"] or ""
    return _Written(text, sign, before, digits, match["power"] or "", match["fraction"] or "", after)


def _ungrouped(digits: str) -> str | None:
    """Return digits without blanks and apostrophes between thousands; None if they are elsewhere."""
    if not re.search(rf"['{_BLANK}]", digits):
        return digits
    grouped = _GROUPED.match(digits)
    rest = "" if grouped is None else digits[grouped.end() :]
    if grouped is None or not re.fullmatch(r"(?:[.,]\d*)?", rest):
        return None
    return re.sub(rf"['{_BLANK}]", "", grouped.group()) + rest


def _decimal_mark(amounts: Iterable[_Written]) -> str | None:
    """Return "," or "." if one of the amounts can only be read with it as the decimal mark, else None.

    Raises:
        ValueError: one can only be read with a comma, another with a point.
    """
    by_mark: dict[str, str] = {}
    for amount in amounts:
        readings = {".": _is_plain(amount.digits), ",": _is_plain(amount.digits.translate(_SWAPPED))}
        if readings["."] != readings[","]:
            by_mark.setdefault("." if readings["."] else ",", amount.text)
    if len(by_mark) > 1:
        raise ValueError(f"{shown(by_mark[','])} has a decimal comma, {shown(by_mark['.'])} a decimal point")
    return next(iter(by_mark), None)


def _is_plain(digits: str) -> bool:
    """Return whether digits are a number by English marks; no number above 999 begins with 0 before its first comma."""
    return _PLAIN.fullmatch(digits) is not None and re.match("0+,", digits) is None


def _number(amount: _Written, has_comma: bool) -> Decimal:
    digits = amount.digits.translate(_SWAPPED) if has_comma else amount.digits
    if not _is_plain(digits):
        raise ValueError(f"{shown(amount.text)} is no number")
    number = Decimal((digits.replace(",", "") or "0") + amount.power)
    if amount.fraction:
        above, below = unicodedata.normalize("NFKC", amount.fraction).split("\N{FRACTION SLASH}")
        number += Decimal(above) / Decimal(below)
    return number.copy_negate() if amount.sign == "-" else number


def _shared_unit(amounts: Iterable[_Written]) -> tuple[str, str]:
    """Return what stands before and after the digits of all amounts with a unit, as the longest has it: "years".

    Raises:
        ValueError: there are several units, or one multiplies and some amounts lack it: "1.2 million" and "950,000".
    """
    amounts = list(amounts)
    with_unit = [amount for amount in amounts if amount.before or amount.after]
    of_kind = {_kind(amount): amount for amount in sorted(with_unit, key=lambda one: len(one.before + one.after))}
    if len(of_kind) > 1:
        names = sorted(" ".join(f"{amount.before} {amount.after}".split()) for amount in of_kind.values())
        raise ValueError(f"the units differ: {' and '.join(names[:2])}")
    scaled, bare = next(filter(_scales, with_unit), None), next((one for one in amounts if not one.after), None)
    if scaled is not None and bare is not None:
        raise ValueError(f"the units differ: {shown(scaled.text)} and {shown(bare.text)}")
    return next(((amount.before, amount.after) for amount in of_kind.values()), ("", ""))


def _scales(amount: _Written) -> bool:
    """Return whether an amount is a number times its unit, as per cents and millions are."""
    word = _WORD.match(amount.after.lstrip(_BLANK))
    name = "" if word is None else word.group()
    return amount.after.lstrip(_BLANK)[:1] in ("%", "‰") or name in _SCALES or _folded(name) in _SCALE_WORDS


def _kind(amount: _Written) -> tuple[str, str]:
    """Return the currency and the unit; "5 €" has its currency as "€ 5" has."""
    before, after = amount.before.strip().removesuffix("."), amount.after.strip()
    if not before and _CODE.fullmatch(after):
        before, after = after, ""
    return before, _WORD.sub(lambda word: _folded(word.group()), after)


def _folded(word: str) -> str:
    """Return a word without its plural's s, in lower case; short ones keep both, for m, ms, M, Mb and MB are units."""
    is_plural = len(word) > 3 or (len(word) == 3 and word.islower())  # lbs, but not mAs
    stem = word.removesuffix("S").removesuffix("s") if is_plural else word
    return stem.lower() if len(stem) > 3 else stem
