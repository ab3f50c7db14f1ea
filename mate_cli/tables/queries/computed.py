"""Draw questions whose answer is computed from numbers: sums, averages, differences.

Differences have no operator: they are written, but not trained on.
"""

from __future__ import annotations

from mate_cli.tables.queries.draw import ALL, Draw, Question, UnclearError
from mate_cli.tables.queries.grammar import DIFFERENCE, OneOf, RowSet, SqlQuery
from mate_cli.tables.queries.scales import adds_up_in_words, averages_in_words
from mate_cli.tables.queries.words import is_amount

# Of a column that counts things (True), and of one that measures.
_SUMS = {
    True: (
        "what is the total number of {name} {of}",
        "what are the combined {name} {of}",
        "what is the sum of the {name} {of}",
        "how many total {name} {of}",
        "how many {name} {of} in total",
        "how many {name} {of} altogether",
        "how many {name} are there {of} in total",
    ),
    False: (
        "what is the total {name} {of}",
        "what is the combined {name} {of}",
        "what is the {name} {of} in total",
        "what is the {name} {of} altogether",
    ),
}
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
    columns = [c for c in draw.sheet.columns if c is not draw.subject]
    column = draw.choice([c for c in columns if (c.adds_up and is_amount(c)) or in_words(c)])
    counts, names = is_amount(column), draw.name(draw.subject).many
    name = draw.name(column).many if counts else draw.name(column).one
    rows: RowSet = ALL
    of = f"for all {names}" if draw.happens(0.5) else ""
    if draw.happens(0.4):
        (_, first, value), (_, second, another) = draw.row(draw.subject), draw.row(draw.subject)
        rows, of = OneOf(draw.subject, (first.key, second.key)), f"of {value} and {another}"
    elif draw.happens(0.6):
        rows, words = draw.condition(draw.subject, column)
        of = f"of {names} {words.attribute}"
    forms = (_SUMS if operator == "SUM" else _AVERAGES)[counts]
    text = draw.choice(forms).format(name=name, of=of)
    return computed(draw, operator.lower(), text, SqlQuery(column, rows, operator))


def difference(draw: Draw) -> Question:
    """Ask for the difference of a number between two rows."""
    (row, first, value), (other, second, another) = draw.row(draw.subject), draw.row(draw.subject)
    column = draw.choice([c for c in draw.sheet.columns if c.adds_up and is_amount(c) and c is not draw.subject])
    before, after = column.keys[row], column.keys[other]
    if not (isinstance(before, float) and isinstance(after, float) and before > after):
        raise UnclearError
    name = draw.name(column).many
    choices = [
        f"what is the difference in {name} between {value} and {another}",
        f"how many more {name} did {value} have than {another}",
        f"how many more {name} does {value} have compared to {another}",
    ]
    return computed(draw, "difference", draw.choice(choices), SqlQuery(column, first, DIFFERENCE, minus=second))


def computed(draw: Draw, kind: str, text: str, query: SqlQuery) -> Question:
    """Return a question on numbers, which may be equal, if there are two at least and no cell is empty."""
    rows = [row for row, _ in query.cells(draw.sheet)]
    if len(rows) < 2 or any(query.column.keys[row] is None for row in rows):
        raise UnclearError
    return Question(kind, text, query)
