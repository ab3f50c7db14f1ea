"""Draw questions that call rows by their kind: "which tool is the cheapest", "how many drama films are there".

What a column of yes and no says is a kind too: "the cheapest insured car", "the hotels without a pool".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mate_cli.tables.queries.computed import column_to_compute, computed
from mate_cli.tables.queries.counts import counted
from mate_cli.tables.queries.draw import MAX_LISTED, Draw, Question, UnclearError
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.headers import plural, singular
from mate_cli.tables.queries.rows import Both, Extreme, RowSet, Where
from mate_cli.tables.queries.scales import adds_up_in_words, averages_in_words, most
from mate_cli.tables.queries.sheet import TypedColumn
from mate_cli.tables.queries.wording import condition, of_several, superlative
from mate_cli.tables.queries.words import Noun, is_amount, is_flag, is_kind, is_named, is_quality, is_yes

# {}: the plural of the kind, and what the rows must also be: "in berlin", or nothing.
_COUNTS = ("how many {} are there {}", "how many {} are listed {}", "what is the number of {} {}")
_LISTS = ("list all {} {}", "which are the {} {}", "what are the {} {}", "name all {} {}")
_NOUN = re.compile(r"[a-z]{3,}(?: [a-z]{3,})?")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Rows with a value in a column of kinds, or of yes and no, and what they are called."""

    column: TypedColumn
    rows: Where
    noun: Noun


def of_kind(draw: Draw) -> Question:
    """Ask about the rows of a kind: how many there are, which, for an extreme, their average or their sum.

    The rows are things with names: no date is a hotel.
    """
    if not is_named(draw.subject):
        raise UnclearError
    others = [column for column in draw.sheet.columns if column is not draw.subject]
    column = draw.choice([column for column in others if is_kind(column) or is_flag(column)])
    kind = _flagged(draw, column) if is_flag(column) else _kind(draw, column)
    return draw.choice((_counted, _listed, _listed, _extreme, _extreme, _extreme, _averaged, _added))(draw, kind)


def _flagged(draw: Draw, column: TypedColumn) -> _Kind:
    """Return the rows of which a column says yes, or no: "insured cars", "hotels without a pool"."""
    name, quality = draw.name(draw.subject), column.name.lower()
    key = draw.key(column, draw.random.randrange(draw.sheet.table.num_rows))
    if not is_yes(key) and None in column.keys:  # an empty cell may mean no too
        raise UnclearError
    rows = Where(column, "=", key)
    if is_yes(key) and is_quality(quality) and quality.isalpha() and draw.happens(0.8):
        return _Kind(column, rows, Noun(f"{quality} {name.one}", f"{quality} {name.many}"))
    attribute = condition(column, "=", str(key), False, None, draw.random).attribute
    return _Kind(column, rows, Noun(f"{name.one} {attribute}", f"{name.many} {of_several(attribute)}"))


def _kind(draw: Draw, column: TypedColumn) -> _Kind:
    """Return a kind that some rows are of, but not all, and that is no part of another: garden tools are tools too."""
    rows = Where(column, "=", draw.key(column, draw.random.randrange(draw.sheet.table.num_rows)))
    text, name = singular(str(rows.key)), draw.name(draw.subject)
    has_others = len(rows.numbers(draw.sheet)) < draw.sheet.table.num_rows
    is_part = any(text in str(key) for key in {*column.keys} - {rows.key})
    if not has_others or is_part or not _NOUN.fullmatch(text) or draw.is_elsewhere(column, str(rows.key)):
        raise UnclearError
    if name.one in text or draw.happens(0.5):
        return _Kind(column, rows, Noun(text, plural(text)))
    return _Kind(column, rows, Noun(f"{text} {name.one}", f"{text} {name.many}"))


def _narrowed(draw: Draw, kind: _Kind, *others: TypedColumn) -> tuple[RowSet, str]:
    """Return the rows of a kind, half of the time those that meet a condition too, and that condition in words."""
    if draw.happens(0.5):
        return kind.rows, ""
    where, words = draw.condition(draw.subject, kind.column, *others)
    both = Both(kind.rows, where)
    if len(both.numbers(draw.sheet)) in (0, len(kind.rows.numbers(draw.sheet))):
        raise UnclearError
    return both, words.attribute


def _counted(draw: Draw, kind: _Kind) -> Question:
    rows, attribute = _narrowed(draw, kind)
    text = draw.choice(_COUNTS).format(kind.noun.many, of_several(attribute))
    return counted(draw, rows, text.strip())


def _listed(draw: Draw, kind: _Kind) -> Question:
    rows, attribute = _narrowed(draw, kind)
    if (number := len(rows.numbers(draw.sheet))) > MAX_LISTED:
        raise UnclearError
    if number == 1:
        text = draw.choice(("which is the {} {}", "what is the {} {}")).format(kind.noun.one, attribute)
        return draw.asked("select of a kind", text.strip(), draw.alone(draw.subject, rows))
    text = draw.choice(_LISTS).format(kind.noun.many, of_several(attribute))
    return draw.asked("select of a kind", text.strip(), SqlQuery(draw.subject, rows), single=False)


def _extreme(draw: Draw, kind: _Kind) -> Question:
    by, highest, noun = draw.column(draw.subject, kind.column, ordered=True), draw.happens(0.6), kind.noun.one
    rows, attribute = _narrowed(draw, kind, by)
    if len(rows.numbers(draw.sheet)) < 2:
        raise UnclearError
    words = superlative(by, highest, draw.random)
    choices = [f"which {noun} {attribute} has {words}", f"what is the {noun} {attribute} with {words}"]
    if (adjectives := draw.scale(by)) is not None:
        adjective = most(adjectives[not highest])
        choices += [f"which {noun} {attribute} is the {adjective}", f"what is the {adjective} {noun} {attribute}"] * 3
    text = " ".join(draw.choice(choices).split())
    return draw.asked("superlative of a kind", text, draw.alone(draw.subject, Extreme(rows, by, highest)))


def _averaged(draw: Draw, kind: _Kind) -> Question:
    columns = [column for column in draw.sheet.columns if column is not draw.subject and averages_in_words(column)]
    column = draw.choice(columns)
    rows, attribute = _narrowed(draw, kind, column)
    text = f"what is the average {draw.name(column).one} of {kind.noun.many} {of_several(attribute)}".strip()
    return computed(draw, "average", text, SqlQuery(column, rows, "AVERAGE"))


def _added(draw: Draw, kind: _Kind) -> Question:
    column = column_to_compute(draw, adds_up_in_words)
    rows, attribute = _narrowed(draw, kind, column)
    kinds = f"{kind.noun.many} {of_several(attribute)}".strip()
    choices = [f"what is the total {draw.name(column).one} of {kinds}"]
    if is_amount(column):
        name = draw.name(column).many
        choices = [f"how many {name} do {kinds} have in total", f"how many {name} do the {kinds} have together"]
    return computed(draw, "sum", draw.choice(choices), SqlQuery(column, rows, "SUM"))
