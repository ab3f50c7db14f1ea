"""Find the amounts that a verb asks for: "what do the Stihl tools cost on average?".

Benchmarks name the column, "what was the average price"; people use a verb, and models answer with the tools.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mate_cli.tables.aggregation import AVERAGE, NONE, SUM, Operator
from mate_cli.tables.answer_form import has_amounts
from mate_cli.tables.queries.headers import REMARK, words_of
from mate_cli.tables.queries.scales import PRICES
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.text import normalize_for_match

_HEADERS = {
    "cost": PRICES,
    "earn": frozenset(["earnings", "income", "pay", "salary", "wage", "wages"]),
}
_ASKS = re.compile(r"(?:what|how much) (?:do|does|did|will|would) .*\b(cost|earn)\b(?! (?:less|more|than)\b)")
_AVERAGE = re.compile(r"\b(?:average|mean)\b")
_TOTAL = re.compile(r"^how much did\b(?!.*\beach\b)|\b(?:altogether|combined|together|in (?:all|total|sum))\b")


class AskedAmounts(NamedTuple):
    """Cells of a column of amounts, and the operator to apply to them."""

    cells: list[Coordinate]
    operator: Operator


def asked_amounts(question: str, table: Table, cells: Sequence[Coordinate]) -> AskedAmounts | None:
    """Return the amounts in the rows of the chosen cells, if the question begins like "what do they cost" or "how much
    does she earn" and one column has prices, or pay; None otherwise. They are averaged or added up where it says so,
    and what things did cost is added up, too.
    """
    text = normalize_for_match(question)
    asked = _ASKS.match(text)
    if asked is None or not cells:
        return None
    headers = (set(words_of(REMARK.sub("", cell.text))) for cell in table.header)
    named = [column for column, header in enumerate(headers) if header & _HEADERS[asked[1]]]
    if len(named) != 1 or not has_amounts(table, named[0]):
        return None
    operator = AVERAGE if _AVERAGE.search(text) else SUM if _TOTAL.search(text) else NONE
    rows = dict.fromkeys(row for row, _ in cells)
    return AskedAmounts([(row, named[0]) for row in rows], operator if len(rows) > 1 else NONE)
