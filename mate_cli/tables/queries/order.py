"""Draw questions about the order of the rows: neighbours, the first and the last, those before and after a row."""

from __future__ import annotations

from mate_cli.tables.queries.draw import ALL, Draw, Question, UnclearError
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.rows import Beside, Edge, Listed
from mate_cli.tables.queries.wording import asked
from mate_cli.tables.queries.words import is_named, is_time

# {which}: "which team", {name}: "team", {names}: "teams", {value}: the row that the question names.
_BELOW = (
    "{which} is listed directly below {value}",
    "{which} is listed right below {value}",
    "{which} is below {value}",
    "{which} is listed after {value}",
    "{which} is listed immediately after {value}",
    "what is the next {name} listed after {value}",
    "what is the name of the {name} listed after {value}",
    "after {value}, what is the next {name} listed",
)
_ABOVE = (
    "{which} is listed directly above {value}",
    "{which} is listed right above {value}",
    "{which} is above {value} in the table",
    "{which} is listed before {value}",
    "{which} is listed just before {value}",
    "what is the previous {name} listed before {value}",
    "what is the name of the {name} listed before {value}",
    "before {value}, what {name} is listed",
)
_LATER = (
    "{which} comes after {value}",
    "{which} came after {value}",
    "{which} came immediately after {value}",
    "{which} is next after {value}",
    "{which} followed {value}",
    "what was the next {name} after {value}",
    "what is the next {name} after {value}",
    "after {value}, what was the next {name}",
    "{which} came next after {value}",
)
_EARLIER = (
    "{which} comes before {value}",
    "{which} came before {value}",
    "{which} came right before {value}",
    "{which} was previous to {value}",
    "{which} preceded {value}",
    "what was the previous {name} before {value}",
    "what is the {name} prior to {value}",
    "before {value}, what was the last {name}",
    "what was the {name} immediately before {value}",
)
_COUNTED = ("how many {names} are listed {where} {value}", "how many {names} are {where} {value} on the list")
_COUNTED_IN_TIME = ("how many {names} came {where} {value}", "how many {names} were {where} {value}", *_COUNTED)


def neighbour(draw: Draw) -> Question:
    """Ask for the row before or after another."""
    _, where, value = draw.row(draw.subject)
    step, in_time = draw.choice((1, -1)), draw.follows_time() and draw.happens(0.7)
    forms: tuple[str, ...] = (_LATER if step == 1 else _EARLIER) if in_time else (_BELOW if step == 1 else _ABOVE)
    if not is_named(draw.subject):  # a date or a score has no name
        forms = tuple(form for form in forms if "the name of" not in form)
    which, name = asked(draw.subject, draw.random), draw.name(draw.subject).one
    text = draw.choice(forms).format(which=which, name=name, value=value)
    return draw.asked("neighbour", text, draw.alone(draw.subject, Beside(where, step)))


def listed(draw: Draw) -> Question:
    """Ask how many rows are before or after another."""
    _, where, value = draw.row(draw.subject)
    below, names = draw.happens(0.5), draw.name(draw.subject).many
    rows = Listed(where, below)
    if len(rows.numbers(draw.sheet)) < 2:
        raise UnclearError
    form = draw.choice(_COUNTED_IN_TIME if draw.follows_time() else _COUNTED)
    text = form.format(names=names, where="after" if below else "before", value=value)
    return draw.asked("count in order", text, SqlQuery(draw.subject, rows, "COUNT"), single=False)


def edge(draw: Draw) -> Question:
    """Ask for the first or last row of the table, or of those that meet a condition."""
    answer, last = draw.answering(), draw.happens(0.5)
    if is_time(answer) and not answer.is_sorted:  # the first date need not be the first of the list
        raise UnclearError
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
