"""Join the rows of a header, and tell whether a header looks like data: the first row of a table without a header.

It does where every column of numbers has a number for a header, unless these numbers are labels: years above other
numbers, or as evenly spaced as "1, 2, 3" or "10, 20, 30". Of a table of texts alone nothing can be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from mate_cli.system.errors import shown

_NUMBER = re.compile(r"[-+]?\d+(,\d{3})*(\.\d+)?")
_YEAR = re.compile(r"(19|20)\d\d")
_ROWS = 20


def joined(labels: Iterable[str]) -> str:
    """Return the labels of a column, one below the other, as one; a repeated one counts once."""
    return " ".join(dict.fromkeys(filter(None, labels)))


def header_doubt(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], remedy: str) -> str | None:
    """Return a line that says what to do if the header of a file is data, where it looks so."""
    if not looks_like_data(header, rows):
        return None
    return f"{path}: the header, {shown(', '.join(header))}, looks like data; if there is no header, {remedy}"


def looks_like_data(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """
    Args:
        header: the texts of the first row; rows: of those below it, all as wide.
    """
    columns = [[text.strip() for text in column] for column in zip(header, *rows[:_ROWS], strict=True)]
    numeric = [(top, below) for top, *below in columns if _all_match(_NUMBER, below)]
    tops = [top for top, _ in numeric]
    if not numeric or not all(map(_NUMBER.fullmatch, tops)):
        return False
    are_years = all(_YEAR.fullmatch(top) and not _all_match(_YEAR, below) for top, below in numeric)
    return not (are_years or _evenly_spaced([float(top.replace(",", "")) for top in tops]))


def _all_match(pattern: re.Pattern[str], texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text]
    return bool(filled) and all(map(pattern.fullmatch, filled))


def _evenly_spaced(numbers: Sequence[float]) -> bool:
    """Return whether numbers rise by equal steps, of 1 where there are but two."""
    steps = [after - before for before, after in pairwise(numbers)]
    if not steps or steps[0] <= 0 or (len(steps) == 1 and steps[0] != 1):
        return False
    return all(abs(step - steps[0]) <= 1e-6 * steps[0] for step in steps)
