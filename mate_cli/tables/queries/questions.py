"""Draw a question of each kind about a table.

Their shares are near those of the words in the training questions of WikiTableQuestions, where "how many" begins a
quarter of them, but for look-ups and selections: users ask more of them.
"""

from __future__ import annotations

from collections.abc import Callable

from mate_cli.tables.queries.categories import of_kind
from mate_cli.tables.queries.computed import difference, total
from mate_cli.tables.queries.counts import commonest, count, counted, different
from mate_cli.tables.queries.draw import ALL, MAX_LISTED, Draw, Question, UnclearError
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.look_ups import look_up
from mate_cli.tables.queries.order import edge, listed, neighbour
from mate_cli.tables.queries.rows import Extreme, OneOf, Ranked, RowSet, SameAs, Where
from mate_cli.tables.queries.scales import began, measured, more, most
from mate_cli.tables.queries.sheet import Sheet, TypedColumn
from mate_cli.tables.queries.wording import asked, comparative, of_several, superlative, tell
from mate_cli.tables.queries.words import is_amount, is_flag, is_kind, is_person, is_time, is_who


def select(draw: Draw) -> Question:
    """Ask for the rows that meet a condition."""
    column = draw.answering()
    where, words = draw.condition(column, sign="=" if draw.happens(0.7) else None)
    verb = words.ending if words.ending is not None and draw.happens(0.4) else words.verb
    return selection(draw, "select", column, where, verb, words.attribute)


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
            f"{tell(name.one)} the {name.one} {attribute}",
        ]
        return draw.asked(kind, draw.choice(words), draw.alone(column, rows))
    if len(numbers) > MAX_LISTED:
        raise UnclearError
    words = [
        f"which {name.many} {of_several(verb)}",
        f"what are the {name.many} {of_several(attribute)}",
        f"{tell(name.one)} all {name.many} {of_several(attribute)}",
        f"what {name.many} {of_several(verb)}",
    ]
    return draw.asked(kind, draw.choice(words), SqlQuery(column, rows), single=False)


def extreme(draw: Draw) -> Question:
    """Ask for the row with the highest or lowest value."""
    answer = draw.answering()
    by, highest = draw.column(answer, ordered=True), draw.happens(0.65)
    had, named = _most(draw, answer, by, highest)
    choices = [f"{asked(answer, draw.random)} {had}"] * 3 + [named] * 2
    return draw.asked("superlative", draw.choice(choices), draw.alone(answer, Extreme(ALL, by, highest)))


def extreme_of_some(draw: Draw) -> Question:
    """Ask for the row with the highest or lowest value among those that meet a condition."""
    answer = draw.answering()
    by, highest = draw.column(answer, ordered=True), draw.happens(0.65)
    had, _ = _most(draw, answer, by, highest)
    where, condition = draw.condition(answer, by)
    if len(where.numbers(draw.sheet)) < 2:
        raise UnclearError
    name = draw.name(answer)
    choices = [
        f"of the {name.many} {of_several(condition.attribute)}, which {had}",
        f"which {name.one} {condition.attribute} {had}",
        f"among {name.many} {of_several(condition.attribute)}, {asked(answer, draw.random)} {had}",
    ]
    if began(by) is not None and had.endswith(("first", "last")):
        choices += [f"{asked(answer, draw.random)} {had} {condition.attribute}"] * 3
    if (adjectives := draw.scale(by)) is not None and answer is draw.subject:
        which = "who" if is_person(answer) else draw.choice(("which", "what"))
        choices += [f"{which} is the {most(adjectives[not highest])} {name.one} {condition.attribute}"] * 3
    query = draw.alone(answer, Extreme(where, by, highest))
    return draw.asked("superlative with condition", draw.choice(choices), query)


def _most(draw: Draw, answer: TypedColumn, by: TypedColumn, highest: bool) -> tuple[str, str]:
    """Word an extreme as a verb, "had the most points" or "is the tallest", and as a whole question."""
    name, adjective, verb = draw.name(answer).one, _adjective(draw, by, highest), began(by)
    if verb is not None and answer is draw.subject and draw.happens(0.4):
        verb += " last" if highest else " first"
        return verb, f"what is the {name} that {verb}"
    words = superlative(by, highest, draw.random)
    had, named = f"{draw.choice(('had', 'has', 'had'))} {words}", f"what is the {name} with {words}"
    if adjective is None:
        return had, named
    if answer is not draw.subject:
        return had, f"what is the {name} of the {adjective} {draw.name(draw.subject).one}"
    verb = f"{draw.choice(('is', 'is', 'was'))} the {adjective}"
    return verb, f"{draw.choice(('what', 'which', 'who' if is_person(answer) else 'which'))} is the {adjective} {name}"


def _adjective(draw: Draw, by: TypedColumn, highest: bool) -> str | None:
    """Return what people call the row with the highest or lowest value, mostly: "tallest", "most recent"."""
    if (adjectives := draw.scale(by)) is not None:
        return most(adjectives[not highest]) if draw.happens(0.8) else None
    if is_time(by) and not draw.needs_name(by) and draw.happens(0.4):
        return draw.choice(("latest", "most recent") if highest else ("earliest",))
    return None


def ranked(draw: Draw) -> Question:
    """Ask for the row with the second or third highest or lowest value, or the next one after a row."""
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.7)
    words, name = superlative(by, highest, draw.random).removeprefix("the "), draw.name(draw.subject).one
    who = asked(draw.subject, draw.random)
    if not is_time(by) and draw.happens(0.4):  # the year after one is the next, but its rank by the latest is not
        row, _, value = draw.row(draw.subject)
        rest = Where(by, "<" if highest else ">", draw.key(by, row))
        query = draw.alone(draw.subject, Extreme(rest, by, highest))
        return draw.asked("ranked", f"{who} had the next {words} after {value}", query)
    above, place = draw.choice(((1, "second"), (1, "second"), (2, "third")))
    choices = [f"{who} had the {place} {words}"] * 2 + [f"what is the {name} with the {place} {words}"]
    return draw.asked("ranked", draw.choice(choices), draw.alone(draw.subject, Ranked(by, highest, above)))


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
    if (adjectives := draw.scale(by)) is not None and not is_time(by):
        choices += [f"how {adjectives[0]} is the {most(adjectives[not highest])} {name.one}"] * 4
    return draw.asked("extreme value", draw.choice(choices), draw.alone(by, Extreme(ALL, by, highest)))


def extreme_value_of_some(draw: Draw) -> Question:
    """Ask for the highest or lowest value among rows that meet a condition, or when the first or last of them was."""
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.6)
    where, condition = draw.condition(draw.subject, by)
    if len(where.numbers(draw.sheet)) < 2:
        raise UnclearError
    words, name = superlative(by, highest, draw.random), draw.name(draw.subject)
    several = of_several(condition.attribute)
    choices = [f"what is {words} of {name.many} {several}", f"what was {words} among {name.many} {several}"]
    if is_time(by) and not draw.needs_name(by):
        choices += [f"when was the {'last' if highest else 'first'} {name.one} {condition.attribute}"] * 3
    elif not is_time(by) and (adjectives := draw.scale(by)) is not None:
        choices += [f"how {adjectives[0]} is the {most(adjectives[not highest])} {name.one} {condition.attribute}"] * 2
    query = draw.alone(by, Extreme(where, by, highest))
    return draw.asked("extreme value with condition", draw.choice(choices), query)


def same_as(draw: Draw) -> Question:
    """Ask for the other row with the same value."""
    _, where, value = draw.row(draw.subject)
    column = draw.column(draw.subject)
    if is_flag(column):
        raise UnclearError
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


def compared(draw: Draw) -> Question:
    """Ask which rows have more or less than another, or how many."""
    row, _, value = draw.row(draw.subject)
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.7)
    rows, names = Where(by, ">" if highest else "<", draw.key(by, row)), draw.name(draw.subject).many
    than = f"had {comparative(by, highest, draw.random)} than {value}"
    if (adjectives := draw.scale(by)) is not None and draw.happens(0.6):
        than = f"{draw.choice(('is', 'was'))} {more(adjectives[not highest])} than {value}"
    if draw.happens(0.5):
        return counted(draw, rows, f"how many {names} {of_several(than)}")
    return selection(draw, "compared", draw.subject, rows, than, f"that {than}")


def either(draw: Draw) -> Question:
    """Ask which of two rows has the greater or lesser value."""
    (row, first, value), (other, second, another) = draw.row(draw.subject), draw.row(draw.subject)
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.7)
    if row == other or None in (by.keys[row], by.keys[other]):
        raise UnclearError
    query = draw.alone(draw.subject, Extreme(OneOf(draw.subject, (first.key, second.key)), by, highest))
    greater, pair = f"had {comparative(by, highest, draw.random)}", f"{value} or {another}"
    has = greater.replace("had", "has", 1)
    if (adjectives := draw.scale(by)) is not None and draw.happens(0.6):
        greater, has = (f"{verb} {more(adjectives[not highest])}" for verb in ("was", "is"))
    name = draw.name(draw.subject).one
    who = draw.choice(("who", f"which {name}") if is_who(draw.subject) else (f"which {name}", "which", f"what {name}"))
    choices = [
        f"{who} {greater}, {pair}",
        f"{who} {has}: {pair}",
        f"{who} {has}, {pair}",
        f"{who} {greater} {pair}",
    ]
    return draw.asked("either", draw.choice(choices), query)


QUESTIONS: dict[Callable[[Draw], Question], float] = {
    look_up: 36,
    select: 30,
    select_two: 20,
    extreme: 32,
    extreme_of_some: 16,
    extreme_value: 6,
    extreme_value_of_some: 6,
    of_kind: 40,
    ranked: 5,
    neighbour: 20,
    edge: 7,
    listed: 3,
    same_as: 10,
    compared: 12,
    commonest: 10,
    either: 18,
    count: 20,
    different: 3,
    total: 100,
    difference: 10,
}
"""How a question is drawn -> its weight. Few tables have what some of them need, so those are rarer than this."""

_OF_MEASURES = (extreme, extreme_of_some, extreme_value, extreme_value_of_some, compared, either)
_OFTENER = 8  # than about other tables, for few have one


def weights_for(sheet: Sheet) -> list[float]:
    """Return the weights of ``QUESTIONS`` for a table: one with a measure is asked more often for its extremes, and one
    with a column of kinds, or of yes and no, about these.
    """
    has_measure = bool(measured(sheet.columns))
    has_kind = any(is_kind(column) or is_flag(column) for column in sheet.columns)
    often = {*(_OF_MEASURES if has_measure else ()), *((of_kind,) if has_kind else ())}
    return [weight * _OFTENER if kind in often else weight for kind, weight in QUESTIONS.items()]
