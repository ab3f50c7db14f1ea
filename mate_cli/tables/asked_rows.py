"""The rows that a question is about: by names, by columns of yes and no, by a month or a year, and by limits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from mate_cli.tables.dated_rows import dated_rows
from mate_cli.tables.flagged_rows import flagged_rows
from mate_cli.tables.limited_rows import limited_rows
from mate_cli.tables.named_rows import TO_OTHER_ROWS, NamedRows, named_rows
from mate_cli.tables.table import Table
from mate_cli.tables.text import format_names

_LIMITS = frozenset(["above", "after", "before", "below", "between", "least", "over", "than", "under", "until"])
"""Words that compare rows with a number, if there is one: "guided tours of more than 5 days"."""

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=8)  # several rules ask for those of one question
def asked_rows(question: str, table: Table) -> NamedRows:
    """Return ``named_rows``, and of them, or of all, those that flags, dates and limits tell apart (``flagged_rows``,
    ``dated_rows``, ``limited_rows``).
    """
    if not table.rows:
        return NamedRows()
    matches = [*_WORD.finditer(question)]
    words = [_one_word(match.group()) for match in matches]
    limited = limited_rows(question, [match.span() for match in matches], table)
    by_value = [*dated_rows(words, table), *limited]
    signs = [*flagged_rows(words, table), *by_value]
    rows = frozenset(range(table.num_rows)).intersection(*(sign.rows for sign in signs))
    if not signs or not rows:
        return named_rows(question, table)
    said = frozenset().union(*(sign.places for sign in signs))
    rest = _without([matches[place].span() for place in sorted(said)], question)
    named = named_rows(rest, table)
    if not named.suffice:
        return _told_apart(rows, rest)._replace(by_value=bool(by_value))
    both = tuple(row for row in named.rows if row in rows)
    if not both:
        return named_rows(question, table)
    return named._replace(rows=both, most=named.most + 1, flagged=True, by_value=bool(by_value))


def most_behind_headers(question: str, table: Table, rows: Iterable[int]) -> list[int]:
    """Return the rows of which most cells stand in a question right behind their header: "from Kassel to Erfurt"."""
    asked = f" {format_names(question)} "
    headers = ((column, format_names(cell.text)) for column, cell in enumerate(table.header))
    named = [(column, header) for column, header in headers if f" {header} " in asked]
    counts = {
        row: sum(f" {header} {format_names(table.rows[row][column].text)} " in asked for column, header in named)
        for row in rows
    }
    most = max(counts.values(), default=0)
    return [row for row, count in counts.items() if count == most]


def _one_word(text: str) -> str:
    """Return a word as ``format_names`` does, in one piece: of "½" it makes two, of "¹" perhaps none."""
    return format_names(text).replace(" ", "") or "_"


def _told_apart(rows: Collection[int], rest: str) -> NamedRows:
    """Return rows without a name, and whether they suffice for the rest of the question."""
    others = frozenset(format_names(rest).split())
    compares = others & (TO_OTHER_ROWS - _LIMITS if _DIGIT.search(rest) else TO_OTHER_ROWS)
    return NamedRows(tuple(sorted(rows)), not compares, most=1, others=others, flagged=True)


def _without(spans: Sequence[tuple[int, int]], text: str) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text
