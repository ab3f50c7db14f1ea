"""Find the text that most rows of a column have, for questions such as "which supplier delivers the most products?".

A model points to cells one by one, and compares groups of rows worst of all: weights 0.11.0 answer two of twelve such
questions of WikiTableQuestions dev.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.queries.headers import is_plural, plural, singular, words_of
from mate_cli.tables.queries.sheet import is_blank
from mate_cli.tables.table import Cell, Coordinate, Table
from mate_cli.tables.text import normalize_for_match

_MOST = r"(?:the )?(?:most(?: number of)?|(?:largest|highest|greatest) number of)"
_FEWEST = r"(?:the )?(?:fewest|(?:least|smallest|lowest) number of)"
_OFTEN = r"(?:often|frequently|commonly|times|in|on|at|by|of|from|represented|featured|listed|used)"
_LARGEST = re.compile(
    rf"^(?:which|what) (?P<kind>.+?) (?:{_MOST}(?: (?:{_OFTEN}\b.*|(?P<things>\w+)\b.*))?|{_FEWEST} (?P<few>\w+)\b.*)$"
)
_COMMON = re.compile(r"\bmost (?:common|frequent) (?P<kind>.+)$")
_FEW = 0.8  # of the cells of a column: so many texts or fewer are kinds, as suppliers of products are
_ABBREVIATION = 3  # characters of a header, as "Pts" and "W"


def most_frequent(question: str, table: Table) -> Coordinate | None:
    """Return the first cell whose text more rows have than any other in the column that a question asks for.

    If it asks for the fewest, the text that fewer rows have; of rows that it names, these alone count. None if it asks
    for something else, as "the most points" does where a column has the points; if the column hardly repeats a text; or
    in a tie.
    """
    text = normalize_for_match(question).rstrip(" ?.")
    asked = _COMMON.search(text) or _LARGEST.match(text)
    if asked is None or (column := _column_of(asked["kind"], table)) is None:
        return None
    groups = asked.groupdict()
    things = groups.get("things") or groups.get("few")
    if things is not None and (not is_plural(things) or _is_measured(things, table)):
        return None
    return _largest_group(question, table, column, smallest=groups.get("few") is not None)


def _largest_group(question: str, table: Table, column: int, smallest: bool) -> Coordinate | None:
    """Return the first cell of the text that the most, or the fewest, of the named rows have; None in a tie."""
    rows = sorted(asked_rows(question, table).rows) or range(table.num_rows)
    texts = {row: normalize_for_match(table.rows[row][column].text) for row in rows}
    texts = {row: text for row, text in texts.items() if not is_blank(text)}
    counts = Counter(texts.values()).most_common()
    if smallest:
        counts.reverse()
    if not 2 <= len(counts) <= _FEW * len(texts) or counts[0][1] == counts[1][1]:
        return None
    return next((row, column) for row, text in texts.items() if text == counts[0][0])


def _column_of(kind: str, table: Table) -> int | None:
    """Return the column whose header begins a phrase, in the singular or the plural; None if not exactly one does."""
    names = ((column, normalize_for_match(cell.text)) for column, cell in enumerate(table.header))
    forms = [(column, {name, plural(name), singular(name)}) for column, name in names if name]
    begin = [column for column, own in forms if any(re.match(rf"{re.escape(form)}(?!\w)", kind) for form in own)]
    return begin[0] if len(begin) == 1 else None


def _is_measured(things: str, table: Table) -> bool:
    """Return whether a column may tell how many things there are: one of numbers that has their name, or its letter."""
    forms, columns = {things, singular(things)}, zip(table.header, zip(*table.rows, strict=True), strict=True)
    names = [normalize_for_match(header.text) for header, cells in columns if _has_numbers(cells)]
    return any(forms & {*words_of(name)} or (len(name) <= _ABBREVIATION and name[:1] == things[0]) for name in names)


def _has_numbers(cells: Sequence[Cell]) -> bool:
    """Return whether half of the cells that say anything, or more, begin with a number."""
    begins = [re.match(r"\W*\d", cell.text) is not None for cell in cells if not is_blank(cell.text)]
    return 2 * sum(begins) >= len(begins) > 0
