"""Complete what a model lists or counts to all rows that a question asks for: "who joined after 2022?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mate_cli.tables.aggregation import AVERAGE, COUNT, SUM
from mate_cli.tables.answer_form import asked_kind
from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.queries.headers import is_plural, plural
from mate_cli.tables.queries.sheet import is_blank
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.table_index import parts_of_cells, stems_of_cells
from mate_cli.tables.text import normalize_for_match, stem

_DIFFERENT = re.compile(
    r"how many (?:different|distinct|unique) (.+?)(?: (?:are (?:there|listed)|do we have|exist))?(?: in total)?$"
)
_COMPUTING = frozenset([AVERAGE.name, COUNT.name, SUM.name])
_MANY = 20
"""Rows with a name, of more of which a model that computes misses some."""

_SHARE_OF_NAMES, _SHARE_OF_VALUES = 3 / 4, 1 / 3
"""Shares of the named rows, and of those of a time or a limit: a model that computes with more of them means all."""

_SOME = re.compile(
    r"\d|\b(?:both|every|first|last|least|less|more|most|next|once|one|only|or|other|previous|same|second|third|worst"
    r"|\w{2,}est)\b"
)
_FEW = re.compile(r"(?:(?:can you )?(?:give|list|name) (?:me )?(?:a|an|any|one|two|three|some)|how (?!many|much))\b")


def whole_list(question: str, table: Table, cells: Sequence[Coordinate], aggregation: str) -> list[Coordinate]:
    """Return the cells of all rows of a time or within a limit in the column of the chosen ones, if nothing else tells
    rows apart; of all rows that a question names, if the model computes with most of them and they are many or told
    apart so; of all rows, if the question counts how many different things there are of what a header names.

    The chosen cells, if some are of other rows or columns; if the question asks for one thing ("which year"), for some
    ("name a player") or an extreme, or has another number; or if one of its words is a part of a cell: "developers" may
    be a condition that the model knows.
    """
    if cells and aggregation == COUNT.name and (column := _counted(question, table)) is not None:
        return [(row, column) for row, own in enumerate(table.rows) if not is_blank(own[column].text)]
    asked, columns, rows = asked_rows(question, table), {column for _, column in cells}, {row for row, _ in cells}
    by_value_alone = asked.by_value and asked.most == 1
    computes = aggregation in _COMPUTING and (asked.by_value or len(asked.rows) > _MANY)
    share = _SHARE_OF_VALUES if asked.by_value else _SHARE_OF_NAMES
    misses_some = computes and len(rows) > len(asked.rows) * share
    if len(columns) != 1 or not asked.suffice or not (by_value_alone or misses_some) or not rows < {*asked.rows}:
        return [*cells]
    text, headers = normalize_for_match(question), stems_of_cells(table.header)
    if _FEW.match(text) or (len(cells) == 1 and _asks_for_one(asked_kind(text), headers)):
        return [*cells]
    if _SOME.search(" ".join(asked.others)):
        return [*cells]
    if any(len(word) > 1 for word in parts_of_cells(asked.others, table)):  # initials of names are parts of cells
        return [*cells]
    return [(row, cells[0][1]) for row in asked.rows]


def _counted(question: str, table: Table) -> int | None:
    """Return the column of which a question, without another word, counts the different texts."""
    asked = _DIFFERENT.match(normalize_for_match(question).rstrip(" ?."))
    names = [normalize_for_match(cell.text) for cell in table.header]
    named = [column for column, name in enumerate(names) if asked and asked[1] in (name, plural(name))]
    return named[0] if len(named) == 1 else None


def _asks_for_one(kind: Sequence[str], headers: frozenset[str]) -> bool:
    """Return whether a kind is in the singular: its first word that is a plural, or a header, says so."""
    says = (not is_plural(word) for word in kind if is_plural(word) or stem(word) in headers)
    return next(says, bool(kind))
