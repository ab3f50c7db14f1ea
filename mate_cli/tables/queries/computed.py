"""Draw questions whose answer is computed from numbers: sums, averages, differences.

Models with TAPAS's four operators do not learn from differences (``task.qa.difference``).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mate_cli.tables.aggregation import DIFFERENCE
from mate_cli.tables.queries.draw import ALL, Draw, Question, UnclearError, asking
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.rows import OneOf, RowSet
from mate_cli.tables.queries.scales import adds_up_in_words, averages_in_words, event, more
from mate_cli.tables.queries.sheet import TypedColumn
from mate_cli.tables.queries.wording import of_several
from mate_cli.tables.queries.words import is_amount, is_label, is_money, is_time

# Of a column that counts things (True), and of one that measures. {of}: "of teams from canada", "for all teams" or
# nothing; {names}: "teams from canada", "ann and bo".
_SUMS = {
    True: (
        "what is the total number of {name} {of}",
        "what are the combined {name} {of}",
        "what is the sum of the {name} {of}",
        "how many total {name} do {names} have",
        "how many {name} did {names} have in total",
        "how many {name} do {names} have altogether",
        "how many {name} do {names} have in total",
        "how many {name} did {names} have altogether",
        "how many {name} do {names} have combined",
        "how many total {name} did {names} have",
        "how many {name} do {names} have together",
    ),
    False: (
        "what is the total {name} {of}",
        "what is the combined {name} {of}",
        "what is the {name} {of} in total",
        "what is the {name} {of} altogether",
        "what total {name} do {names} have",
        "what {name} do {names} have together",
        "what is the {name} of {names} combined",
    ),
}
# Sums that no word announces: the question names a column of amounts, so that these add up and no rows are counted.
_PLAIN_SUMS = ("how many {name} do {names} have", "how many {name} did {names} have")
# {which}: "from canada", "for ann and bo".
_PLAIN_SUMS_OF_ROWS = ("how many {name} are there {which}", "how many {name} were there {which}")
_CLAUSE = re.compile("that |whose ")  # cannot follow "there"
_SUMS_OF_MONEY = (
    "how much {name} do {names} have in total",
    "how much {name} did {names} have together",
)
_AVERAGES = {
    True: (
        "what is the average number of {name} {of}",
        "what is the average {name} {of}",
        "what was the average {name} {of}",
    ),
    False: ("what is the average {name} {of}", "what was the average {name} {of}", "what is the mean {name} {of}"),
}


def total(draw: Draw) -> Question:
    """Ask for the sum or the average of a column, over all rows, two of them, or those that meet a condition."""
    operator = draw.choice(("SUM", "SUM", "AVERAGE"))
    in_words = adds_up_in_words if operator == "SUM" else averages_in_words
    column = column_to_compute(draw, in_words)
    counts, names = is_amount(column), draw.name(draw.subject).many
    name = draw.name(column).many if counts else draw.name(column).one
    rows: RowSet = ALL
    which = "in all"
    of, these = (f"for all {names}" if draw.happens(0.5) else ""), f"all {names}"
    if draw.happens(0.25):
        (_, first, value), (_, second, another) = draw.row(draw.subject), draw.row(draw.subject)
        rows, these = OneOf(draw.subject, (first.key, second.key)), f"{value} and {another}"
        of, which = f"of {these}", f"for {these}"
    elif draw.happens(0.75):
        rows, words = draw.condition(draw.subject, column, several=draw.happens(0.7))
        which = of_several(words.attribute)
        these = f"{names} {which}"
        of, these = f"of {these}", draw.choice(("", "the ")) + these
    forms = (_SUMS if operator == "SUM" else _AVERAGES)[counts]
    if operator == "SUM" and counts:
        plain = _PLAIN_SUMS if _CLAUSE.match(which) else _PLAIN_SUMS + _PLAIN_SUMS_OF_ROWS
        forms = (*forms, *plain * 3)
    if operator == "SUM" and is_money(column):
        forms = (*forms, *_SUMS_OF_MONEY)
    text = draw.choice(forms).format(name=name, of=of, names=these, which=which)
    return computed(draw, operator.lower(), text, SqlQuery(column, rows, operator))


def difference(draw: Draw) -> Question:
    """Ask for the difference of a number or a year between two rows."""
    rows = [draw.row(draw.subject), draw.row(draw.subject)]
    column = draw.choice([c for c in draw.sheet.columns if c.subtracts and not is_label(c) and c is not draw.subject])
    keys = [column.keys[row] for row, _, _ in rows]
    if None in keys or keys[0] == keys[1]:
        raise UnclearError
    (_, less, low), (_, greater, high) = sorted(rows, key=lambda row: column.keys[row[0]] or 0.0)
    text = draw.choice(_difference_words(draw, column, high, low))
    return computed(draw, "difference", text, SqlQuery(column, greater, DIFFERENCE.name, minus=less))


def _difference_words(draw: Draw, column: TypedColumn, high: str, low: str) -> list[str]:
    """Word the difference between a row with more and one with less."""
    name, pair = draw.name(column), draw.choice((f"{high} and {low}", f"{low} and {high}"))
    if is_time(column):
        happened = event(column)
        return [
            f"how many years are there between {pair}",
            f"how many years passed between {low} and {high}",
            f"what is the difference in years between {pair}",
            *([f"how many years after {low} was {high} {happened}"] * 2 if happened else ()),
        ]
    if is_amount(column):
        return [
            f"what is the difference in {name.many} between {pair}",
            f"how many more {name.many} did {high} have than {low}",
            f"how many more {name.many} does {high} have compared to {low}",
            f"how many fewer {name.many} did {low} have than {high}",
            f"what is the difference between the number of {name.many} of {pair}",
        ]
    adjectives = draw.scale(column)
    return [
        f"what is the difference in {name.one} between {pair}",
        f"what is the difference between the {name.one} of {pair}",
        f"what was the {name.one} difference between {pair}",
        *([f"how much {more(adjectives[0])} is {high} than {low}"] * 2 if adjectives else ()),
    ]


def column_to_compute(draw: Draw, in_words: Callable[[TypedColumn], bool]) -> TypedColumn:
    """Return a column besides the subject that counts things, or one that ``in_words`` finds."""
    columns = [column for column in draw.sheet.columns if column is not draw.subject]
    return draw.choice([c for c in columns if (c.adds_up and is_amount(c)) or in_words(c)])


def computed(draw: Draw, kind: str, text: str, query: SqlQuery) -> Question:
    """Return a question on numbers, which may be equal, if there are two at least and no cell is empty."""
    rows = [row for row, _ in query.cells(draw.sheet)]
    if len(rows) < 2 or any(query.column.keys[row] is None for row in rows):
        raise UnclearError
    return asking(kind, text, query)
