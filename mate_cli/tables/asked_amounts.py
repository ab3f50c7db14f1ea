"""Tell whether "how many" asks for the number of rows or for the sum of a column that it names.

Models learn from benchmarks, where "how many" nearly always counts rows; but "how many pupils are there in Lund?" asks
for the sum of a column "pupils", and "how much was spent in 2023?" for that of a column "spent".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mate_cli.tables.aggregation import COUNT, NONE
from mate_cli.tables.queries.headers import REMARK, head_of, is_plural, words_of
from mate_cli.tables.queries.sheet import ColumnType, Sheet
from mate_cli.tables.queries.words import is_label
from mate_cli.tables.table import Coordinate, Table

_HOW_MANY = re.compile(r"\bhow many (?:of the )?(?:total |combined )?(.+)|^(?:what \w+ )?the (?:total )?number of (.+)")
_HOW_MUCH = re.compile(r"\bhow much (.+)")
_OF_EACH = re.compile(r"\b(?:each|every|per|respectively|different|distinct)\b")
_BOUND = re.compile(r"(?:(?:is|are|was|were) )?(?:above|over|under|below|between|at (?:least|most)|\w+er than|more|less)\b")
_COMPARES = re.compile(r"\b(?:more|less|fewer|than|difference)\b")


def asks_for_sum(question: str, table: Table, cells: Sequence[Coordinate], aggregation: str) -> bool:
    """Return whether a model that lists or counts cells of a column of numbers should have added them up.

    It should, if "how many" is followed by the name of the column, or a part of it, in the plural, or if that name comes
    after "how much". A single cell that is not counted is left as the answer.

    Args:
        cells: those that the model chose.
        aggregation: name of the operator that it chose.
    """
    text = " ".join(question.lower().split())
    lists, columns = aggregation == NONE.name and len(cells) > 1, {column for _, column in cells}
    if len(columns) != 1 or not (lists or aggregation == COUNT.name) or _OF_EACH.search(text):
        return False
    if lists and _COMPARES.search(text):  # "how many more goals" is a difference
        return False
    (column,) = columns
    header = table.header[column].text
    return (_counts(text, header) or _measures(text, header)) and _has_amounts(table, column)


def _counts(text: str, header: str) -> bool:
    """Return whether a question asks how many there are of what a header names, of any size."""
    if (asked := _HOW_MANY.search(text)) is None:
        return False
    noun = asked[1] or asked[2]
    rests = [noun.removeprefix(name) for name in _plurals(header) if re.match(rf"{re.escape(name)}\b", noun)]
    return any(not _BOUND.match(rest.strip()) for rest in rests)


def _measures(text: str, header: str) -> bool:
    """Return whether a question asks how much there is of what a header names."""
    asked, name = _HOW_MUCH.search(text), head_of(header)
    return asked is not None and bool(name) and re.search(rf"\b{re.escape(name)}\b", asked[1]) is not None


def _plurals(header: str) -> list[str]:
    """Return the phrases of a header that end in a plural: "yellow cards" and "cards", "goals" of "goals for"."""
    words = words_of(REMARK.sub("", header))
    ends = [place for place, word in enumerate(words) if is_plural(word)]
    return [" ".join(words[start : end + 1]) for end in ends for start in range(end + 1)]


def _has_amounts(table: Table, column: int) -> bool:
    """Return whether a column has numbers that are neither years nor names of rows."""
    columns = Sheet(table.selected(range(table.num_rows), [column])).columns
    return any(column.kind is ColumnType.NUMBER and not is_label(column) for column in columns)
