"""The parts of an amount as people write it: "$1,200", "15 %", "7½ km", "1.200,50", "(30)"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from mate_cli.system.errors import shown
from mate_cli.tables.number_words import MONTH_NUMBERS

BLANK = " \u00a0\u202f\u2009"
"""Blanks, also those that do not break a line, and the thin one."""

_CURRENCY = "".join(mark for mark in map(chr, range(1 << 16)) if unicodedata.category(mark) == "Sc")
CURRENCY = re.compile(rf"(?:[A-Z]{{1,3}})?[{_CURRENCY}]|[A-Z]{{3}}|(?:Rs|kr|Fr)\.?")
"""The sign or code of a currency: "$", "US$", "EUR"."""

_FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"
_AMOUNT = re.compile(
    rf"(?P<sign>[-+])?(?P<before>(?:{CURRENCY.pattern})[{BLANK}]?)?(?P<inner>[-+])?"
    rf"(?P<digits>\d[\d.,'{BLANK}]*(?<![{BLANK}'])|[.,]\d+|(?=[{_FRACTIONS}]))"
    rf"(?:(?P<power>[eE][-+]?\d{{1,2}})|[{BLANK}]?(?P<fraction>[{_FRACTIONS}]))?"
    rf"(?P<after>[{BLANK}]?(?:[%‰°{_CURRENCY}]|[^\W\d_])[^\d.,]*(?:(?<=m)[23])?(?:\.[^\d.,]*)?)?"  # km2, Mio. €
)
_LOSS = re.compile(rf"((?:{CURRENCY.pattern})?)[{BLANK}]?\((.+)\)")  # as accountants write -30: (30), $ (30)
_NO_CENTS = re.compile(rf",[-–—](?=[{BLANK}]?[{_CURRENCY}]?$)")  # 5,- €
_DIGITS = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_LONGEST = 100  # characters; longer texts are no amounts
_NO_UNITS = {"st", "nd", "rd", "th", *MONTH_NUMBERS}
_GROUPED = re.compile(rf"\d{{1,3}}(?:['{BLANK}]\d{{3}})+(?=[.,]|$)")
_PLAIN = re.compile(r"(?:\d+|\d{1,3}(?:,\d{2,3})*,\d{3})?(?:\.\d*)?")  # commas as in India too: 12,34,567
_SWAPPED = str.maketrans(".,", ",.")


class WrittenAmount(NamedTuple):
    """The parts of an amount's text.

    Attributes:
        digits: without blanks and apostrophes between thousands.
        after: the unit, with the blank before it.
        scale: how many powers of ten the number is to be multiplied by.
    """

    text: str
    sign: str
    before: str
    digits: str
    power: str
    fraction: str
    after: str
    scale: int = 0


def written_amount(text: str) -> WrittenAmount | None:
    """Return the parts of a text; None if it is no amount."""
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    if len(text) > _LONGEST:
        return None
    if _DIGITS.fullmatch(text):  # most numbers; what follows takes ten times as long
        return WrittenAmount(text, "", "", text, "", "", "")
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
    return WrittenAmount(text, sign, before, digits, match["power"] or "", match["fraction"] or "", after)


def _ungrouped(digits: str) -> str | None:
    """Return digits without blanks and apostrophes between thousands; None if they are elsewhere."""
    if not re.search(rf"['{BLANK}]", digits):
        return digits
    grouped = _GROUPED.match(digits)
    rest = "" if grouped is None else digits[grouped.end() :]
    if grouped is None or not re.fullmatch(r"(?:[.,]\d*)?", rest):
        return None
    return re.sub(rf"['{BLANK}]", "", grouped.group()) + rest


def decimal_mark(amounts: Iterable[WrittenAmount]) -> str | None:
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


def number_of(amount: WrittenAmount, has_comma: bool) -> Decimal:
    """Return the number of an amount, times its scale.

    Raises:
        ValueError: with such a decimal mark it is none.
    """
    digits = amount.digits.translate(_SWAPPED) if has_comma else amount.digits
    if not _is_plain(digits):
        raise ValueError(f"{shown(amount.text)} is no number")
    number = Decimal((digits.replace(",", "") or "0") + amount.power)
    if amount.fraction:
        above, below = unicodedata.normalize("NFKC", amount.fraction).split("\N{FRACTION SLASH}")
        number += Decimal(above) / Decimal(below)
    return (number.copy_negate() if amount.sign == "-" else number).scaleb(amount.scale)
