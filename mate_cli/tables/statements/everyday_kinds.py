"""Draw statements about tables in everyday words, true and false ones: "Elmham was opened after Ashgate".

They have the columns, conditions and comparisons of made questions (``mate_cli.tables.queries``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

from mate_cli.tables.queries.draw import ALL, Draw, UnclearError
from mate_cli.tables.queries.rows import Extreme
from mate_cli.tables.queries.scales import more, most
from mate_cli.tables.queries.sheet import Key, TypedColumn
from mate_cli.tables.queries.wording import comparative, condition, of_several, superlative
from mate_cli.tables.queries.words import is_amount, is_time, mention

_MAX_VALUE = 40  # characters
_MOST_COUNTED = 12
_NEAR = 3
"""How far false statements mostly are from a true count, or from the highest value."""


def _cell(draw: Draw, truth: bool) -> str:
    """Say what a row has in a column."""
    row, _, value = draw.row(draw.subject)
    column = draw.column(draw.subject)
    said = row if truth else _other(draw, column, row)
    draw.key(column, said)
    words = mention(column, said, draw.sheet, draw.random)
    if len(words) > _MAX_VALUE:
        raise UnclearError
    phrase = condition(column, "=", words, draw.needs_name(column, words), draw.scale(column), draw.random)
    name = draw.name(column).one
    return draw.choice([f"{value} {phrase.verb}"] * 3 + [f"the {name} of {value} is {words}"])


def _limit(draw: Draw, truth: bool) -> str:
    """Compare the value of a row with a number or a time that need not stand in the table."""
    row, _, value = draw.row(draw.subject)
    where, phrase = draw.condition(draw.subject, sign=draw.choice((">", "<", ">=", "<=")))
    if not where.column.is_ordered or where.column.keys[row] is None:
        raise UnclearError
    return _if(f"{value} {phrase.verb}", (row in where.numbers(draw.sheet)) is truth)


def _two_rows(draw: Draw, truth: bool) -> str:
    """Say which of two rows has more."""
    (row, _, value), (other, _, another) = draw.row(draw.subject), draw.row(draw.subject)
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.6)
    key, than = draw.key(by, row), draw.key(by, other)
    verb = f"{draw.choice(('had', 'has'))} {comparative(by, highest, draw.random)}"
    if (adjectives := draw.scale(by)) is not None and draw.happens(0.6):
        verb = f"{draw.choice(('is', 'was'))} {more(adjectives[not highest])}"
    return _if(f"{value} {verb} than {another}", key != than and _is_above(key, than, highest) is truth)


def _same(draw: Draw, truth: bool) -> str:
    """Say that two rows have the same value."""
    (row, _, value), (other, _, another) = draw.row(draw.subject), draw.row(draw.subject)
    column = draw.column(draw.subject)
    name = f"number of {draw.name(column).many}" if is_amount(column) else draw.name(column).one
    same = draw.key(column, row) == draw.key(column, other)
    has = draw.choice(("have", "had"))
    return _if(f"{value} and {another} {has} the same {name}", row != other and same is truth)


def _extreme(draw: Draw, truth: bool) -> str:
    """Say which row has the most."""
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.65)
    best = draw.alone(draw.subject, Extreme(ALL, by, highest)).rows.numbers(draw.sheet)
    row, _, value = draw.row(draw.subject)
    if not truth and draw.happens(0.6):
        above = sum(_is_above(key, draw.key(by, row), highest) for key in by.keys if key is not None)
        draw.choice([above][: above <= _NEAR])
    verb = f"{draw.choice(('had', 'has', 'had'))} {superlative(by, highest, draw.random)}"
    if (adjectives := draw.scale(by)) is not None and draw.happens(0.7):
        verb = f"{draw.choice(('is', 'is', 'was'))} the {most(adjectives[not highest])}"
    return _if(f"{value} {verb}", by.keys[row] is not None and (row in best) is truth)


def _extreme_value(draw: Draw, truth: bool) -> str:
    """Say what the highest value is."""
    by, highest = draw.column(draw.subject, ordered=True), draw.happens(0.65)
    row = Extreme(ALL, by, highest).numbers(draw.sheet)[0]
    said = row if truth else _other(draw, by, row)
    ends: tuple[str, ...]
    if is_time(by):
        ends = ("latest", "last", "most recent") if highest else ("earliest", "first")
    else:
        ends = ("highest", "largest", "greatest", "maximum") if highest else ("lowest", "smallest", "minimum")
    name = f"number of {draw.name(by).many}" if is_amount(by) else draw.name(by).one
    return f"the {draw.choice(ends)} {name} {draw.choice(('is', 'was'))} {mention(by, said, draw.sheet, draw.random)}"


def _count(draw: Draw, truth: bool) -> str:
    """Say how many rows meet a condition."""
    where, words = draw.condition(draw.subject, sign="=" if draw.happens(0.6) else None)
    number = len(where.numbers(draw.sheet))
    said = number if truth else number + draw.choice([n for n in range(-_NEAR, _NEAR + 1) if n and number + n > 0])
    names = draw.name(draw.subject)
    if said > _MOST_COUNTED or (number == 1 and draw.happens(0.7)):  # or "only one" would mostly be true
        raise UnclearError
    if said == 1:
        return draw.choice((f"only one {names.one} {words.verb}", f"there is one {names.one} {words.attribute}"))
    return draw.choice(
        (
            f"{said} {names.many} {of_several(words.verb)}",
            f"there are {said} {names.many} {of_several(words.attribute)}",
            f"{said} of the {names.many} {of_several(words.verb)}",
        )
    )


def _only(draw: Draw, truth: bool) -> str:
    """Say that a row is the only one that meets a condition."""
    row, _, value = draw.row(draw.subject)
    where, words = draw.condition(draw.subject, sign="=")
    rows = where.numbers(draw.sheet)
    text = f"{value} is the only {draw.name(draw.subject).one} {words.attribute}"
    return _if(text, rows == [row] if truth else row in rows and len(rows) > 1)


class StatementKind(NamedTuple):
    """How a statement with a truth value is drawn, and how often.

    ``draw`` raises ``UnclearError`` if the table has nothing for it, or not by chance.
    """

    draw: Callable[[Draw, bool], str]
    weight: float


KINDS = {
    "cell": StatementKind(_cell, 20),
    "limit": StatementKind(_limit, 25),
    "two rows": StatementKind(_two_rows, 25),
    "same": StatementKind(_same, 8),
    "extreme": StatementKind(_extreme, 20),
    "extreme value": StatementKind(_extreme_value, 15),
    "count": StatementKind(_count, 20),
    "only": StatementKind(_only, 4),
}


def _other(draw: Draw, column: TypedColumn, row: int) -> int:
    """Return a row with another value of a column."""
    key = draw.key(column, row)
    return draw.choice([other for other, its in enumerate(column.keys) if its is not None and its != key])


def _is_above(key: Key, other: Key, highest: bool) -> bool:
    compare = operator.gt if highest else operator.lt
    return bool(compare(key, other))


def _if(text: str, fits: bool) -> str:
    if not fits:
        raise UnclearError
    return text
