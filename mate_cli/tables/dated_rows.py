"""The rows of the time that a question says: "how many invoices were sent in March?", "who joined after 2022?", "what
was sold in the first quarter?".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mate_cli.tables.columns import column_values
from mate_cli.tables.named_rows import Sign
from mate_cli.tables.number_words import MONTH_NUMBERS, MONTHS, ORDINALS
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import stems, stems_of_cells
from mate_cli.tables.text import format_names

_YEAR = r"(?:19|20)\d\d"
_ALONE = rf"{_YEAR}(?! \d\d\b)"  # 2002-03 is a season
_TIME = rf"(?:{_YEAR} \d\d \d\d|(?:(?:{'|'.join(MONTHS)}) )?{_ALONE}|{'|'.join(MONTHS)})"
_SAID = re.compile(
    rf"\b(?:from (?P<since>{_TIME}) (?:through|till|to|until) (?P<until>{_TIME})"
    rf"|between (?P<low>{_TIME}) and (?P<high>{_TIME})"
    rf"|(?<!no )(?P<how>after|before|during|for|from|in|later than|of|since) (?P<time>{_TIME}))\b"
)
_PART = re.compile(
    r"\b(?:during|for|from|in|of) (?:the )?"
    r"(?:(?P<nth>first|second|third|fourth) (?:(?P<half>half)|quarter)|q(?P<q>[1-4]))"
    rf"(?: of)?(?: (?P<year>{_ALONE}|the year))?\b"
)
_EACH_TIME = re.compile(rf"\b{_TIME}\b")
_WITHIN = frozenset(["during", "for", "from", "in", "of"])
_CALLED = frozenset(["date", "day"])

_Time = dict[int, int]
"""A time by its fields: the year is 0, the month 1, the day 2."""


def dated_rows(words: Sequence[str], table: Table) -> list[Sign]:
    """Return the rows of the one year, half, quarter, month ("in March 2025") or day that a question says, or of those
    before, after or between two.

    They are those of the column of dates whose header it says ("due in March"), else of the only such column, or of the
    only one called a date. None if a cell is that year or month, for then it is a name.

    Args:
        words: of the question, as ``format_names`` gives them, each in one piece.
    """
    text = " ".join(words)
    said = _part(text, table) or _SAID.search(text)
    if said is None or len(_EACH_TIME.findall(text)) != len(_EACH_TIME.findall(said.group())):
        return []
    of = said.groupdict()
    texts = [of[name] for name in ("since", "until", "low", "high", "time") if of.get(name)]
    times = [_read(one) for one in texts] or _months(of)
    fields, how = sorted(times[0]), of.get("how")
    is_within = how in _WITHIN
    column = _column(words, table, fields)
    if column is None or sorted(times[-1]) != fields or (is_within and {texts[0], *texts[0].split()} & _texts(table)):
        return []
    if how and not is_within and 0 not in fields:  # months follow one another in a year alone
        return []
    fits = _fits(column_values(table).dates[:, column], times, how)
    first = len(text[: said.start()].split())
    places = frozenset(range(first, first + len(said.group().split())))
    return [Sign(frozenset(np.flatnonzero(fits).tolist()), places)] if fits.any() else []


def _read(text: str) -> _Time:
    """Read a month, a year, both, or a day as 2025 03 14."""
    *before, last = text.split()
    if len(before) == 2:
        return {0: int(before[0]), 1: int(before[1]), 2: int(last)}
    if last in MONTH_NUMBERS:
        return {1: MONTH_NUMBERS[last]}
    return {0: int(last)} | ({1: MONTH_NUMBERS[before[0]]} if before else {})


def _part(text: str, table: Table) -> re.Match[str] | None:
    """Find the quarter of a year, or the half; None if it may be that of a match, as a table with such words says."""
    part = _PART.search(text)
    if part is None or (part["half"] and not part["year"]):
        return None
    of_matches = _texts(table) | {format_names(cell.text) for cell in table.header}
    return None if any(re.search(r"\b(?:half|q[1-4]|quarter)\b", one) for one in of_matches) else part


def _months(part: Mapping[str, str | None]) -> list[_Time]:
    """Return the first and the last month of a quarter or a half, of a year perhaps."""
    number = int(part["q"]) if part["q"] else ORDINALS[part["nth"] or ""]
    length = 6 if part["half"] else 3
    year = {0: int(said)} if (said := part["year"]) and said.isdecimal() else {}
    return [year | {1: length * (number - 1) + 1}, year | {1: length * number}]


def _fits(dates: NDArray[np.int64], times: Sequence[_Time], how: str | None) -> NDArray[np.bool_]:
    """Say which dates, ``[rows, 3]``, are in, before, after or between times, all by the fields of the times."""
    weights = np.array([10_000, 100, 1])[sorted(times[0])]
    keys = dates[:, sorted(times[0])] @ weights
    low, high = (int(np.array([time[field] for field in sorted(time)]) @ weights) for time in (times[0], times[-1]))
    if how == "before":
        return keys < low
    if how in ("after", "later than"):
        return keys > low
    return keys >= low if how == "since" else (keys >= low) & (keys <= high)


def _column(words: Sequence[str], table: Table, fields: Sequence[int]) -> int | None:
    """Return the column of dates with these fields that a question is about; None if it may be several, or none."""
    values = column_values(table)
    has_fields = values.common[:, fields].all(1) & values.dates[:, :, fields].any((0, 2))
    headers = {place: stems_of_cells([table.header[place]]) for place in np.flatnonzero(has_fields)}
    asked = stems(words)
    said = [place for place, header in headers.items() if header & asked]
    called = [place for place, header in headers.items() if header & _CALLED]
    return next((int(places[0]) for places in (said, [*headers], called) if len(places) == 1), None)


@lru_cache(maxsize=8)
def _texts(table: Table) -> frozenset[str]:
    return frozenset(format_names(cell.text) for row in table.rows for cell in row)
