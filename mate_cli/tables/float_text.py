"""Write floating-point numbers in plain digits, as people do: a table reads two numbers in "2.5e+13", 2.5 and 13."""

from __future__ import annotations

from decimal import Decimal

_LONGEST = 30
"""Digits of a number; one with more, as 1e-40, keeps its exponent."""


def float_text(number: float) -> str:
    """Write a number in plain digits, a whole one without a decimal point: "2", "0.00005", "25462700000000"."""
    return without_exponent(repr(float(number))).removesuffix(".0")


def without_exponent(number: str) -> str:
    """Return the text of a number with its digits instead of an exponent, if these are not too many."""
    if "e" not in number.lower():
        return number
    plain = f"{Decimal(number):f}"
    return plain if len(plain) <= _LONGEST else number
