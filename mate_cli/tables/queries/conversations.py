"""Draw a conversation: a question, and follow-ups that narrow, shift or look beside the answer before.

A follow-up names only what is new, as in SQA. Its answer lies in cells, because SQA has no operators.
"""

from __future__ import annotations

from collections.abc import Callable

from mate_cli.tables.queries.draw import ALL, Draw, Question, UnclearError, asking
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.look_ups import look_up
from mate_cli.tables.queries.questions import extreme, extreme_value, select
from mate_cli.tables.queries.rows import Both, Extreme, SameAs, Where
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn
from mate_cli.tables.queries.wording import asked, of_several, superlative
from mate_cli.tables.queries.words import is_amount, is_flag, is_label, is_money, is_named, is_person, is_who, mention

FOLLOW_UP = "follow-up: "
_ATTEMPTS = 12
_LENGTHS = (2, 2, 3, 3, 3, 4)
_OF_THESE = ("of these, ", "of these ", "of those, ", "of those ", "out of these, ", "and ", "")


def conversation(draw: Draw) -> list[Question]:
    """Draw a conversation of two to four questions.

    Raises:
        UnclearError: the draws gave no two clear questions.
    """
    questions = [draw.choice((everything, everything, everything, select, look_up, extreme, extreme_value))(draw)]
    for _ in range(draw.choice(_LENGTHS) - 1):
        follow_up = _followed(draw, questions[-1].query)
        if follow_up is None or follow_up.query.cells(draw.sheet) in [q.query.cells(draw.sheet) for q in questions]:
            break
        questions.append(follow_up)
    if len(questions) < 2:
        raise UnclearError
    return questions


def everything(draw: Draw) -> Question:
    """Ask for all cells of a column."""
    column = draw.answering()
    names = draw.name(column).many
    choices = [
        f"what are the {names}",
        f"what are all of the {names}",
        f"what are all the {names} listed",
        f"list the {names}",
        f"what were the {names}",
    ]
    if is_named(column):
        choices.append(f"what are the names of the {names}")
    if is_person(column):
        choices += [f"who are the {names}", f"who are all of the {names}", f"who were the {names}"]
    return draw.asked("list", draw.choice(choices), SqlQuery(column, ALL), single=False)


def _followed(draw: Draw, before: SqlQuery) -> Question | None:
    is_one = len(before.cells(draw.sheet)) == 1
    ways = _OF_ONE if is_one else _OF_SEVERAL
    for _ in range(_ATTEMPTS):
        try:
            return draw.choice(ways)(draw, before)
        except UnclearError:
            continue
    return None


def narrow(draw: Draw, before: SqlQuery) -> Question:
    """Ask which of several rows meet a condition."""
    where, words = draw.condition(before.column)
    rows = Both(before.rows, where)
    count = len(rows.numbers(draw.sheet))
    if count in (0, len(before.rows.numbers(draw.sheet))):
        raise UnclearError
    name, prefix = draw.name(before.column), draw.choice(_OF_THESE)
    verb = words.verb if count == 1 else of_several(words.verb)
    which = ("which one", "which", f"which {name.one}") if count == 1 else ("which ones", "which", f"which {name.many}")
    choices = [f"{prefix}{draw.choice(which)} {verb}", f"which of {draw.choice(('these', 'those', 'them'))} {verb}"]
    query = SqlQuery(before.column, rows)
    return draw.asked(f"{FOLLOW_UP}narrow", draw.choice(choices), query, single=False)


def narrow_to_extreme(draw: Draw, before: SqlQuery) -> Question:
    """Ask which of several rows has the highest or lowest value."""
    by, highest = draw.column(before.column, ordered=True), draw.happens(0.65)
    words, name = superlative(by, highest, draw.random), draw.name(before.column).one
    which = draw.choice(("which one", "which", f"which {name}", "who" if is_who(before.column) else "which one"))
    choices = [
        f"{draw.choice(_OF_THESE)}{which} had {words}",
        f"which of {draw.choice(('these', 'those', 'them'))} has {words}",
        f"which {name} had {words}",
    ]
    query = draw.alone(before.column, Extreme(before.rows, by, highest))
    return draw.asked(f"{FOLLOW_UP}superlative", draw.choice(choices), query)


def extreme_of_answer(draw: Draw, before: SqlQuery) -> Question:
    """Ask for the highest or lowest of several values."""
    by, highest = before.column, draw.happens(0.7)
    if not by.is_ordered or is_label(by):
        raise UnclearError
    words, prefix = superlative(by, highest, draw.random), draw.choice(_OF_THESE)
    choices = [f"{prefix}what is {words}", f"{prefix}which is {words}", f"which of these is {words}"]
    query = draw.alone(by, Extreme(before.rows, by, highest))
    return draw.asked(f"{FOLLOW_UP}superlative", draw.choice(choices), query)


def beside(draw: Draw, before: SqlQuery) -> Question:
    """Ask for another column of the rows of the answer, which no question before has named the value of."""
    column = draw.column(before.column, *before.rows.said)
    name, numbers = draw.name(column), before.rows.numbers(draw.sheet)
    if is_flag(column) or any(column.keys[row] is None for row in numbers):
        raise UnclearError
    choices = [
        f"what are their {name.many}",
        f"and their {name.many}",
        f"what is the {name.one} of each",
        f"what were the {name.many} for each",
    ]
    words = _its_words(draw, column) if len(numbers) == 1 else choices
    return asking(f"{FOLLOW_UP}beside", draw.choice(words), SqlQuery(column, before.rows))


def _its_words(draw: Draw, column: TypedColumn) -> list[str]:
    """Ask for a column of a single row."""
    name, its = draw.name(column), draw.choice(("his", "her", "their") if is_person(draw.subject) else ("its",))
    words = [
        f"what is {its} {name.one}",
        f"and what was {its} {name.one}",
        f"and {its} {name.one}",
    ]
    many = [f"how many {name.many} did it have", f"how many {name.many} is that"]
    words += many if is_amount(column) else [f"what {name.one} is that"]
    words += [f"how much {name.one} is that"] if is_money(column) else []
    return words + ([f"{asked(column, draw.random)} is this"] if column is draw.subject else [])


def back(draw: Draw, before: SqlQuery) -> Question:
    """Ask for the subject of a value, if no question before has named it."""
    if draw.subject in (before.column, *before.rows.said):
        raise UnclearError
    name, value = draw.name(draw.subject).one, draw.name(before.column).one
    who = draw.choice(
        ("who", f"which {name}", f"what {name}") if is_who(draw.subject) else (f"which {name}", f"what {name}")
    )
    choices = [
        f"{who} had this {value}",
        f"{who} has that {value}",
        f"{who} was that",
        f"and {who} was it",
        f"{who} does that {value} belong to",
    ]
    return draw.asked(f"{FOLLOW_UP}beside", draw.choice(choices), draw.alone(draw.subject, before.rows))


def shift(draw: Draw, before: SqlQuery) -> Question:
    """Ask the same of another row."""
    if not isinstance(before.rows, Where) or before.rows.sign != "=" or before.column is before.rows.column:
        raise UnclearError
    by = before.rows.column
    row = draw.random.randrange(draw.sheet.table.num_rows)
    key = by.keys[row]
    if key is None or key == before.rows.key or by.keys.count(key) > 1:
        raise UnclearError
    value = mention(by, row, draw.sheet, draw.random)
    if draw.is_elsewhere(by, value):
        raise UnclearError
    preposition = draw.choice(("in", "for")) if by.kind is ColumnType.YEAR else "for"
    choices = [
        f"what about {value}",
        f"and {value}",
        f"how about {value}",
        f"and {preposition} {value}",
        f"what about {preposition} {value}",
    ]
    return draw.asked(f"{FOLLOW_UP}shift", draw.choice(choices), SqlQuery(before.column, Where(by, "=", key)))


def others_like_it(draw: Draw, before: SqlQuery) -> Question:
    """Ask for the other row with the same value."""
    column = draw.column(draw.subject)
    name, shared = draw.name(draw.subject).one, draw.name(column).one
    choices = [
        f"which other {name} has the same {shared}",
        f"what other {name} had the same {shared}",
        f"along with it, which {name} had the same {shared}",
    ]
    return draw.asked(
        f"{FOLLOW_UP}same as", draw.choice(choices), draw.alone(draw.subject, SameAs(before.rows, column))
    )


FollowUp = Callable[[Draw, SqlQuery], Question]

_OF_SEVERAL: tuple[FollowUp, ...] = (
    narrow,
    narrow,
    narrow,
    narrow_to_extreme,
    narrow_to_extreme,
    extreme_of_answer,
    beside,
)
_OF_ONE: tuple[FollowUp, ...] = (beside, beside, back, shift, shift, others_like_it)
