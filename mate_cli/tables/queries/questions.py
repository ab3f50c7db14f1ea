"""Draw a question of each kind about a table.

Their shares are near those of the words in the training questions of WikiTableQuestions: "how many" begins a quarter of
them. Differences have no operator: they are written, but not trained on.
"""

from __future__ import annotations

from collections.abc import Callable

from mate_cli.tables.queries.draw import ALL, Draw, Question, UnclearError
from mate_cli.tables.queries.grammar import (
    DIFFERENCE,
    Beside,
    Edge,
    Extreme,
    OneOf,
    RowSet,
    SameAs,
    SqlQuery,
)
from mate_cli.tables.queries.sheet import TypedColumn
from mate_cli.tables.queries.wording import asked, comparative, of_several, superlative
from mate_cli.tables.queries.words import is_amount, is_location, is_person, is_time

_MAX_LISTED = 12


def look_up(draw: Draw) -> Question:
    """Ask for a column of one row, named by its subject."""
    _, where, value = draw.row(draw.subject)
    column = draw.column(draw.subject)
    return draw.asked("look-up", attribute_words(draw, column, value), SqlQuery(column, where))


def attribute_words(draw: Draw, column: TypedColumn, value: str) -> str:
    """Ask for a column of the row that ``value`` names."""
    name = draw.name(column).one
    choices = [
        f"what is the {name} of {value}",
        f"what was the {name} of {value}",
        f"what was the {name} for {value}",
        f"what {name} did {value} have",
        f"what is {value}'s {name}",
        f"what {name} is listed for {value}",
        f"tell me the {name} of {value}",
    ]
    if is_amount(column):
        many = draw.name(column).many
        choices = [f"how many {many} did {value} have", f"how many {many} does {value} have"] * 3 + [
            f"what is the number of {many} for {value}",
            f"{value} had how many {many}",
            f"what was the total number of {many} for {value}",
        ]
    elif is_time(column) and not draw.needs_name(column):
        choices += [f"when was {value}", f"what {name} was {value}", f"in what {name} was {value}"] * 2
    elif is_person(column):
        choices += [f"who was the {name} of {value}", f"who was the {name} for {value}", f"who is {value}'s {name}"] * 2
    elif is_location(column) and not draw.needs_name(column):
        choices += [f"where was {value}", f"in which {name} was {value}", f"where is {value}"] * 2
    return draw.choice(choices)


def select(draw: Draw) -> Question:
    """Ask for the rows that meet a condition."""
    column = draw.answering()
    where, words = draw.condition(column, sign="=" if draw.happens(0.7) else None)
    return selection(draw, "select", column, where, words.verb, words.attribute)


def select_two(draw: Draw) -> Question:
    """Ask for the rows that meet two conditions."""
    column = draw.answering()
    rows, words = draw.conditions(column)
    return selection(draw, "two conditions", column, rows, words.verb, words.attribute)


def selection(draw: Draw, kind: str, column: TypedColumn, rows: RowSet, verb: str, attribute: str) -> Question:
    """Ask for a column of the rows that a condition describes."""
    numbers, name = rows.numbers(draw.sheet), draw.name(column)
    if len(numbers) == 1:
        words = [f"{asked(column, draw.random)} {verb}"] * 3 + [
            f"what is the only {name.one} {attribute}",
            f"which {name.one} is the one {attribute}",
            f"name the {name.one} {attribute}",
        ]
        return draw.asked(kind, draw.choice(words), draw.alone(column, rows))
    if len(numbers) > _MAX_LISTED:
        raise UnclearError
    words = [
        f"which {name.many} {of_several(verb)}",
        f"what are the {name.many} {attribute}",
        f"name all {name.many} {attribute}",
        f"what {name.many} {of_several(verb)}",
    ]
    return draw.asked(kind, draw.choice(words), SqlQuery(column, rows), single=False)


def extreme(draw: Draw) -> Question:
    """Ask for the row with the highest or lowest value, of all rows or of those that meet a condition."""
    answer = draw.answering()
    by, highest = draw.column(answer, ordered=True), draw.happens(0.65)
    words, name = superlative(by, highest, draw.random), draw.name(answer)
    had = f"{draw.choice(('had', 'has', 'had'))} {words}"
    if draw.happens(0.75):
        choices = [f"{asked(answer, draw.random)} {had}"] * 3 + [f"what is the {name.one} with {words}"]
        query = draw.alone(answer, Extreme(ALL, by, highest))
        return draw.asked("superlative", draw.choice(choices), query)
    where, condition = draw.condition(answer, by)
    if len(where.numbers(draw.sheet)) < 2:
        raise UnclearError
    choices = [
        f"of the {name.many} {condition.attribute}, which {had}",
        f"which {name.one} {condition.attribute} {had}",
        f"among {name.many} {condition.attribute}, {asked(answer, draw.random)} {had}",
    ]
    query = draw.alone(answer, Extreme(where, by, highest))
    return draw.asked("superlative with condition", draw.choice(choices), query)


def extreme_value(draw: Draw) -> Question:
    """Ask for the highest or lowest value itself."""
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.7)
    words, name = superlative(by, highest, draw.random), draw.name(draw.subject)
    choices = [
        f"what is {words}",
        f"what was {words}",
        f"what was {words} of any {name.one}",
        f"what is {words} listed",
    ]
    return draw.asked("extreme value", draw.choice(choices), draw.alone(by, Extreme(ALL, by, highest)))


def neighbour(draw: Draw) -> Question:
    """Ask for the row before or after another."""
    _, where, value = draw.row(draw.subject)
    step, which = draw.choice((1, -1)), asked(draw.subject, draw.random)
    below = [f"is listed {draw.choice(('directly', 'right', 'immediately'))} below {value}", f"is below {value}"]
    above = [f"is listed {draw.choice(('directly', 'right', 'just'))} above {value}", f"is above {value} in the table"]
    if draw.follows_time():
        below += [f"comes after {value}", f"came after {value}", f"is next after {value}", f"followed {value}"]
        above += [f"comes before {value}", f"came before {value}", f"was previous to {value}", f"preceded {value}"]
    words = draw.choice(below if step == 1 else above)
    return draw.asked("neighbour", f"{which} {words}", draw.alone(draw.subject, Beside(where, step)))


def edge(draw: Draw) -> Question:
    """Ask for the first or last row of the table, or of those that meet a condition."""
    answer, last = draw.answering(), draw.happens(0.5)
    name, place = draw.name(answer).one, "last" if last else "first"
    where = draw.choice(("on the list", "listed", "in the table", "on this chart", "listed in the table"))
    choices = [
        f"what is the {place} {name} {where}",
        f"{asked(answer, draw.random)} is {place} {where}",
        f"{asked(answer, draw.random)} is listed {place}",
        f"which {name} is at the {'bottom' if last else 'top'} of the {draw.choice(('list', 'table', 'chart'))}",
    ]
    if draw.happens(0.7):
        return draw.asked("first or last", draw.choice(choices), draw.alone(answer, Edge(ALL, last)))
    source, words = draw.condition(answer)
    text = f"what is the {place} {name} {where} {words.attribute}"
    if len(source.numbers(draw.sheet)) < 2:
        raise UnclearError
    return draw.asked("first or last", text, draw.alone(answer, Edge(source, last)))


def same_as(draw: Draw) -> Question:
    """Ask for the other row with the same value."""
    _, where, value = draw.row(draw.subject)
    column = draw.column(draw.subject)
    shared = draw.name(column).many if is_amount(column) else draw.name(column).one
    same = f"the same {'number of ' if is_amount(column) else ''}{shared}"
    name = draw.name(draw.subject)
    choices = [
        f"which other {name.one} has {same} as {value}",
        f"what other {name.one} had {same} as {value}",
        f"which {name.one} had {same} as {value}",
        f"besides {value}, which other {name.one} has {same}",
    ]
    return draw.asked("same as", draw.choice(choices), draw.alone(draw.subject, SameAs(where, column)))


def either(draw: Draw) -> Question:
    """Ask which of two rows has the greater or lesser value."""
    (row, first, value), (other, second, another) = draw.row(draw.subject), draw.row(draw.subject)
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.7)
    if row == other:
        raise UnclearError
    query = draw.alone(draw.subject, Extreme(OneOf(draw.subject, (first.key, second.key)), by, highest))
    if None in (by.keys[row], by.keys[other]):
        raise UnclearError
    more, pair = comparative(by, highest, draw.random), f"{value} or {another}"
    name = draw.name(draw.subject).one
    who = draw.choice(
        ("who", f"which {name}") if is_person(draw.subject) else (f"which {name}", "which", f"what {name}")
    )
    choices = [
        f"{who} had {more}, {pair}",
        f"{who} has {more}: {pair}",
        f"did {pair} have {more}",
        f"{who} had {more} {pair}",
    ]
    return draw.asked("either", draw.choice(choices), query)


def count(draw: Draw) -> Question:
    """Ask how many rows meet a condition, two of them, or none."""
    names = draw.name(draw.subject).many
    if draw.happens(0.12):
        text = draw.choice(
            (f"how many {names} are there", f"how many {names} are listed", f"what is the total number of {names}")
        )
        return counted(draw, ALL, text)
    sign = draw.choice(("=", "=", None, None, None, "!="))
    rows, words = draw.condition(draw.subject, sign=sign) if draw.happens(0.85) else draw.conditions(draw.subject)
    choices = [f"how many {names} {of_several(words.verb)}"] * 4 + [
        f"what is the number of {names} {words.attribute}",
        f"how many {names} are there {words.attribute}",
        f"what is the total number of {names} {words.attribute}",
        f"number of {names} {words.attribute}",
    ]
    return counted(draw, rows, draw.choice(choices))


def counted(draw: Draw, rows: RowSet, text: str) -> Question:
    if len(rows.numbers(draw.sheet)) == 1 and draw.happens(0.7):  # people seldom count to one
        raise UnclearError
    return draw.asked("count", text, SqlQuery(draw.subject, rows, "COUNT"), single=False)


def total(draw: Draw) -> Question:
    """Ask for the sum or the average of a column, over all rows, two of them, or those that meet a condition."""
    column = draw.choice([c for c in draw.sheet.columns if c.adds_up and is_amount(c) and c is not draw.subject])
    name, names = draw.name(column).many, draw.name(draw.subject).many
    rows: RowSet = ALL
    of = f"for all {names}" if draw.happens(0.5) else ""
    if draw.happens(0.4):
        (_, first, value), (_, second, another) = draw.row(draw.subject), draw.row(draw.subject)
        rows, of = OneOf(draw.subject, (first.key, second.key)), f"of {value} and {another}"
    elif draw.happens(0.6):
        rows, words = draw.condition(draw.subject, column)
        of = f"of {names} {words.attribute}"
    operator = draw.choice(("SUM", "SUM", "AVERAGE"))
    sums = (
        "what is the total number of {}",
        "what are the combined {}",
        "what is the sum of the {}",
        "how many total {}",
    )
    averages = ("what is the average number of {}", "what is the average {}", "what was the average {}")
    text = draw.choice(sums if operator == "SUM" else averages).format(name)
    return computed(draw, operator.lower(), f"{text} {of}", SqlQuery(column, rows, operator))


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


QUESTIONS: dict[Callable[[Draw], Question], float] = {
    look_up: 14,
    select: 12,
    select_two: 6,
    extreme: 24,
    extreme_value: 5,
    neighbour: 8,
    edge: 6,
    same_as: 5,
    either: 10,
    count: 20,
    total: 14,
    difference: 6,
}
"""How a question is drawn -> its weight; few tables have columns to add up, so such questions are rarer than this."""
