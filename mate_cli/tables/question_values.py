"""Find the values in a question on a user's own table: as the release, but with thousands and millions multiplied out.

The release reads "more than 1 million" as 1 (``mate_cli.tables.values``), so that nearly every number is more.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mate_cli.tables.text import normalize_for_match
from mate_cli.tables.values import Date, Value, find_spans

_FACTORS = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_LETTERS = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9}  # behind digits, without a blank
_SCALE = re.compile(rf"[ -]?(?P<word>{'|'.join(_FACTORS)})s?\b|(?<=\d)(?P<letters>{'|'.join(_LETTERS)})\b")
_ONE = re.compile(rf"\b(?P<half>half )?a (?P<word>{'|'.join(_FACTORS)})\b")


class ScaledValue(NamedTuple):
    """A number with a factor: 1.5 and 1,000,000 for "1.5 million"."""

    number: float
    factor: float


def question_values(question: str) -> tuple[Value | ScaledValue, ...]:
    """Return the values of a question, those with a factor last."""
    text = normalize_for_match(question)
    values: list[Value] = []
    scaled = [ScaledValue(0.5 if one["half"] else 1.0, _FACTORS[one["word"]]) for one in _ONE.finditer(text)]
    for span in find_spans(text):
        if (scale := _SCALE.match(text, span.end)) is None:
            values += span.values
        else:
            factor = _FACTORS[scale["word"]] if scale["word"] else _LETTERS[scale["letters"]]
            scaled += [ScaledValue(value, factor) for value in span.values if not isinstance(value, Date)]
    return (*values, *scaled)
