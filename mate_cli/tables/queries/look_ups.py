"""Draw a question for a column of one row, by its name or by a verb: "what is the street of", "where is"."""

from __future__ import annotations

from mate_cli.tables.queries.draw import Draw, Question
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.scales import began, is_price, when
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

_NAMED_BY_VERB = 0.5


def look_up(draw: Draw) -> Question:
    """Ask for a column of one row, named by its subject."""
    _, where, value = draw.row(draw.subject)
    named = [column for column in draw.sheet.columns if column is not draw.subject and _has_verb(column)]
    column = draw.choice(named) if named and draw.happens(_NAMED_BY_VERB) else draw.column(draw.subject)
    return draw.asked(LOOK_UP, attribute_words(draw, column, value), SqlQuery(column, where))


def _has_verb(column: TypedColumn) -> bool:
    """Return whether people ask for a column by a verb rather than by its name: "where is", "who owns"."""
    if is_time(column):
        return began(column) is not None
    return verb_of(column) is not None or is_place(column) or is_price(column)


def attribute_words(draw: Draw, column: TypedColumn, value: str) -> str:
    """Ask for a column of the row that ``value`` names."""
    name = draw.name(column).one
    if is_flag(column):
        if is_quality(quality := column.name.lower()):
            return f"{draw.choice(('is', 'was'))} {value} {quality}"
        places = () if is_person(draw.subject) else (f"is there a {name} at {value}",)
        return draw.choice((f"does {value} have a {name}", *places))
    choices = [
        f"what is the {name} of {value}",
        f"what was the {name} of {value}",
        f"what was the {name} for {value}",
        f"what {name} did {value} have",
        f"what is {value}'s {name}",
        f"what {name} is listed for {value}",
        f"tell me the {name} of {value}",
    ]
    if is_money(column):
        choices += [f"how much {name} did {value} have", f"how much {name} does {value} have"] * 2
    elif is_amount(column):
        many = draw.name(column).many
        choices = [f"how many {many} did {value} have", f"how many {many} does {value} have"] * 3 + [
            f"what is the number of {many} for {value}",
            f"{value} had how many {many}",
            f"what was the total number of {many} for {value}",
        ]
    elif is_time(column) and not draw.needs_name(column):
        happened = when(column, value)
        choices += (
            [f"when {happened}", f"in what year {happened}"] * 4
            if happened
            else [f"when was {value}", f"what {name} was {value}", f"in what {name} was {value}"] * 2
        )
    elif (verb := verb_of(column)) is not None:
        choices += [f"who {verb.active} {value}"] * 5 + [
            f"who was {value} {verb.participle} by",
            f"who is {value}'s {name}",
        ]
    elif is_person(column):
        choices += [f"who was the {name} of {value}", f"who was the {name} for {value}", f"who is {value}'s {name}"] * 2
    elif is_origin(column) and is_person(draw.subject) and not draw.needs_name(column):
        choices += [f"where is {value} from", f"what {name} is {value} from", f"where does {value} come from"] * 2
    elif (is_location(column) or is_area(column)) and not draw.needs_name(column):
        choices += [f"where was {value}", f"in which {name} was {value}", f"where is {value}"] * 2
    elif is_price(column):
        choices += [f"how much is {value}", f"how much does {value} cost", f"what does {value} cost"] * 2
    elif (adjectives := draw.scale(column)) is not None:
        choices += [f"how {adjectives[0]} is {value}", f"how {adjectives[0]} was {value}"] * 3
    return draw.choice(choices)
