"""Find the row that began first, for "who has been here the longest?" where a column says since when.

The longest is the smallest date there; models look for the largest number.
"""

from __future__ import annotations

import re

from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.columns import column_values
from mate_cli.tables.queries.headers import words_of
from mate_cli.tables.table import Table
from mate_cli.tables.text import normalize_for_match

_LONGEST = re.compile(
    r"\b(?:has|have|had)\b.* (?:for )?the (longest|shortest)(?: time)?(?:$| (?:at|for|here|in|on|there|with)\b)"
    r"|\b(longest|shortest)(?: |-)(?:serving|standing)\b"
)
BEGINS = frozenset(["began", "hired", "joined", "since", "start", "started"])
_ENDS = frozenset(["end", "ended", "finished", "left", "retired", "to", "until"])


def longest_standing(question: str, table: Table) -> int | None:
    """Return the row with the first date in the one column that says since when; with the last for "the shortest".

    Of rows that the question names, these alone count. None if it asks for something else, if another column says until
    when, or in a tie.
    """
    asked = _LONGEST.search(normalize_for_match(question).rstrip(" ?."))
    headers = [{*words_of(cell.text)} for cell in table.header]
    begin = [column for column, header in enumerate(headers) if header & BEGINS]
    if asked is None or len(begin) != 1 or any(header & _ENDS for header in headers):
        return None
    values = column_values(table)
    ranks = (values.rank if "longest" in asked.groups() else values.inverse_rank)[:, begin[0]]
    rows = [row for row in asked_rows(question, table).rows or range(table.num_rows) if ranks[row]]
    first = [row for row in rows if ranks[row] == min(ranks[rows])]
    return first[0] if len(first) == 1 else None
