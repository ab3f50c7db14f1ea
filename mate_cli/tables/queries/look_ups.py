"""Draw a question for a column of one row, by its name or by a verb: "what is the street of", "where is"."""

from __future__ import annotations

from mate_cli.tables.queries.draw import Draw, Question
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.scales import is_price, when
from mate_cli.tables.queries.sheet import TypedColumn
from mate_cli.tables.queries.unanswerable import LOOK_UP
from mate_cli.tables.queries.verbs import verb_of
from mate_cli.tables.queries.words import (
    is_amount,
    is_area,
    is_flag,
    is_location,
    is_money,
    is_origin,
    is_person,
    is_place,
    is_quality,
    is_time,
)

_BY_VERB = 0.5  # share of such columns, and of their questions


def look_up(draw: Draw) -> Question:
    """Ask for a column of one row, named by its subject."""
    _, where, value = draw.row(draw.subject)
    others = [column for column in draw.sheet.columns if column is not draw.subject]
    named = [column for column in others if not is_flag(column) and _by_verb(draw, column, value)]
    column = draw.choice(named) if named and draw.happens(_BY_VERB) else draw.choice(others)
    return draw.asked(LOOK_UP, attribute_words(draw, column, value), SqlQuery(column, where))


def attribute_words(draw: Draw, column: TypedColumn, value: str) -> str:
    """Ask for a column of the row that ``value`` names."""
    if is_flag(column):
        return draw.choice(_of_flag(draw, column, value))
    by_verb = _by_verb(draw, column, value)
    return draw.choice(by_verb if by_verb and draw.happens(_BY_VERB) else _by_name(draw, column, value))


def _of_flag(draw: Draw, column: TypedColumn, value: str) -> list[str]:
    """Return questions to be answered by yes or no."""
    if is_quality(quality := column.name.lower()):
        return [f"is {value} {quality}", f"was {value} {quality}"]
    name = draw.name(column).one
    has = f"does {value} have a {name}"
    return [has] if is_person(draw.subject) else [has, f"is there a {name} at {value}"]


def _by_verb(draw: Draw, column: TypedColumn, value: str) -> list[str]:
    """Return questions by a verb or an adjective, as "where is": without the column's name, if they are clear so."""
    if (is_time(column) or is_place(column)) and draw.needs_name(column):
        return []
    if is_time(column):
        happened = when(column, value)
        return [f"when {happened}", f"in what year {happened}"] if happened else []
    if (verb := verb_of(column)) is not None:
        return [f"who {verb.active} {value}", f"who was {value} {verb.participle} by"]
    if is_origin(column) and is_person(draw.subject):
        return [f"where is {value} from", f"where does {value} come from"]
    if is_location(column) or is_area(column):
        return [f"where was {value}", f"where is {value}"]
    if is_price(column):
        return [f"how much is {value}", f"how much does {value} cost", f"what does {value} cost"]
    if (adjectives := draw.scale(column)) is not None:
        return [f"how {adjectives[0]} is {value}", f"how {adjectives[0]} was {value}"]
    return []


def _by_name(draw: Draw, column: TypedColumn, value: str) -> list[str]:
    """Return questions with the column's name, the usual ones of its kind twice."""
    noun = draw.name(column)
    one, many = noun.one, noun.many
    if is_amount(column) and not is_money(column):
        return [f"how many {many} did {value} have", f"how many {many} does {value} have"] * 2 + [
            f"what is the number of {many} for {value}",
            f"{value} had how many {many}",
            f"what was the total number of {many} for {value}",
        ]
    wordings = [
        f"what is the {one} of {value}",
        f"what was the {one} of {value}",
        f"what was the {one} for {value}",
        f"what {one} did {value} have",
        f"what is {value}'s {one}",
        f"what {one} is listed for {value}",
        f"tell me the {one} of {value}",
    ]
    if is_money(column):
        return wordings + [f"how much {one} did {value} have", f"how much {one} does {value} have"] * 2
    if is_person(column) or verb_of(column) is not None:
        of_people = [f"who was the {one} of {value}", f"who was the {one} for {value}", f"who is {value}'s {one}"]
        return wordings + of_people * 2
    if is_time(column) and not draw.needs_name(column):
        return wordings + [f"when was {value}", f"what {one} was {value}", f"in what {one} was {value}"] * 2
    if is_origin(column) and is_person(draw.subject):
        return [*wordings, *[f"what {one} is {value} from"] * 2]
    if is_location(column) or is_area(column):
        return [*wordings, *[f"in which {one} was {value}"] * 2]
    return wordings
