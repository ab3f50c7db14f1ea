"""The units of amounts: which are the same, which multiply, and how amounts of several scales come to one unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mate_cli.system.errors import shown
from mate_cli.tables.number_words import SCALES
from mate_cli.tables.written_amount import BLANK, CURRENCY, WrittenAmount

_WORD = re.compile(r"[^\W\d_]+")
_LETTERS = {"k": 3, "K": 3, "M": 6, "B": 9}  # units, too: of bytes, kelvins, sizes
_ABBREVIATIONS = {"Tsd": 3, "mn": 6, "Mn": 6, "Mio": 6, "bn": 9, "Bn": 9, "Mrd": 9, "tn": 12}
_WORDS = SCALES | {"lakh": 5, "crore": 7, "millionen": 6, "milliard": 9, "milliarde": 9, "milliarden": 9}


class OneUnit(NamedTuple):
    """Amounts of one unit.

    Attributes:
        before, after: what stands before and after the digits of all that have a unit.
        scale: how many powers of ten this unit multiplies them by: 6 of "$ million", 0 of "km".
    """

    amounts: Sequence[WrittenAmount]
    before: str
    after: str
    scale: int


def in_one_unit(amounts: Sequence[WrittenAmount]) -> OneUnit:
    """Return amounts of one unit.

    Thousands, millions and so on are multiplied out where the amounts are of several: "1.2 million" and "950,000". Of
    those of one letter, which may be units, there must be two, "1.2M" and "950K", or a currency, "$1.2M" and "$950".

    Raises:
        ValueError: there are several units, or one multiplies and some amounts lack it: "10%" and "0.2".
    """
    without = list(map(_without_scale, amounts))
    scales = {
        amount.after.strip(BLANK): bare.scale for amount, bare in zip(amounts, without, strict=True) if bare.scale
    }
    is_one_letter = len(scales) == 1 and next(iter(scales)) in _LETTERS
    is_sure = bool(scales) and (not is_one_letter or all(_kind(amount)[0] for amount in without))
    try:
        return OneUnit(amounts, *_shared_unit(amounts), scale=next(iter(scales.values())) if is_sure else 0)
    except ValueError:
        if not is_sure or len(set(map(_kind, without))) > 1:
            raise
        return OneUnit(without, *_shared_unit(without), scale=0)


def _shared_unit(amounts: Sequence[WrittenAmount]) -> tuple[str, str]:
    """Return the unit of all amounts that have one, as the longest has it: "years".

    Raises:
        ValueError: as ``in_one_unit``; nothing is multiplied out.
    """
    with_unit = [amount for amount in amounts if amount.before or amount.after]
    of_kind = {_kind(amount): amount for amount in sorted(with_unit, key=lambda one: len(one.before + one.after))}
    if len(of_kind) > 1:
        names = sorted(" ".join(f"{amount.before} {amount.after}".split()) for amount in of_kind.values())
        raise ValueError(f"the units differ: {' and '.join(names[:2])}")
    multiplied, bare = next(filter(_multiplies, with_unit), None), next((one for one in amounts if not one.after), None)
    if multiplied is not None and bare is not None:
        raise ValueError(f"the units differ: {shown(multiplied.text)} and {shown(bare.text)}")
    return next(((amount.before, amount.after) for amount in of_kind.values()), ("", ""))


def _multiplies(amount: WrittenAmount) -> bool:
    """Return whether an amount is a number times its unit, as per cents and millions are."""
    return amount.after.lstrip(BLANK)[:1] in ("%", "‰") or _without_scale(amount) is not amount


def _without_scale(amount: WrittenAmount) -> WrittenAmount:
    """Return "5 million km" as 5 km, with a scale of 6; an amount without one itself."""
    unit = amount.after.lstrip(BLANK)
    if (word := _WORD.match(unit)) is None:
        return amount
    name = word.group()
    scale = _LETTERS.get(name) or _ABBREVIATIONS.get(name) or _WORDS.get(_folded(name), 0)
    if not scale:
        return amount
    rest = unit[word.end() :].removeprefix(".").lstrip(BLANK)
    return amount._replace(scale=scale, after=f" {rest}" if rest else "")


def _kind(amount: WrittenAmount) -> tuple[str, str]:
    """Return the currency and the unit; "5 €" has its currency as "€ 5" has."""
    before, after = amount.before.strip().removesuffix("."), amount.after.strip().replace(".", "")
    if not before and CURRENCY.fullmatch(after):
        before, after = after, ""
    return before, _WORD.sub(lambda word: _folded(word.group()), after)


def _folded(word: str) -> str:
    """Return a word without its plural's s, in lower case; short ones keep both, for m, ms, M, Mb and MB are units."""
    is_plural = len(word) > 3 or (len(word) == 3 and word.islower())  # lbs, but not mAs
    stem = word.removesuffix("S").removesuffix("s") if is_plural else word
    return stem.lower() if len(stem) > 3 else stem
