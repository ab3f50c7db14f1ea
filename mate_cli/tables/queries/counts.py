"""Draw questions about numbers of rows: how many meet a condition, the values of a column, the value that most have."""

from __future__ import annotations

from mate_cli.tables.queries.draw import ALL, Draw, Question, UnclearError
from mate_cli.tables.queries.grammar import SqlQuery
from mate_cli.tables.queries.rows import Commonest, Different, RowSet
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn
from mate_cli.tables.queries.wording import of_several
from mate_cli.tables.queries.words import is_flag

_MAX_DIFFERENT = 12


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
        f"what is the number of {names} {of_several(words.attribute)}",
        f"how many {names} are there {of_several(words.attribute)}",
        f"what is the total number of {names} {of_several(words.attribute)}",
        f"number of {names} {of_several(words.attribute)}",
    ]
    return counted(draw, rows, draw.choice(choices))


def counted(draw: Draw, rows: RowSet, text: str) -> Question:
    if len(rows.numbers(draw.sheet)) == 1 and draw.happens(0.7):  # people seldom count to one
        raise UnclearError
    return draw.asked("count", text, SqlQuery(draw.subject, rows, "COUNT"), single=False)


def different(draw: Draw) -> Question:
    """Ask how many values a column has."""
    column = _of_texts(draw)
    rows, names = Different(column), draw.name(column).many
    if not 2 <= len(rows.numbers(draw.sheet)) <= min(_MAX_DIFFERENT, draw.sheet.table.num_rows - 1):
        raise UnclearError
    choices = [
        f"how many different {names} are there",
        f"how many different {names} are listed",
        f"how many different {names} are represented",
        f"how many {names} are there in total",
        f"what is the number of different {names}",
    ]
    return draw.asked("count of values", draw.choice(choices), SqlQuery(column, rows, "COUNT"), single=False)


def commonest(draw: Draw) -> Question:
    """Ask for the value that most rows have."""
    column = _of_texts(draw)
    rows = Commonest(column)
    numbers, name, names = rows.numbers(draw.sheet), draw.name(column).one, draw.name(draw.subject).many
    if len(numbers) < 2 or len({column.keys[row] for row in numbers}) > 1:
        raise UnclearError
    choices = [
        f"which {name} has the most {names}",
        f"which {name} had the most {names}",
        f"what {name} has the most {names} listed",
        f"which {name} is listed the most",
        f"what {name} appears the most",
        f"what is the most common {name}",
        f"which {name} is listed the most times",
    ]
    return draw.asked("most frequent", draw.choice(choices), SqlQuery(column, rows), repeated=True)


def _of_texts(draw: Draw) -> TypedColumn:
    """Return a column of texts, which are more than yes and no."""
    columns = (column for column in draw.sheet.columns if column is not draw.subject and not is_flag(column))
    return draw.choice([column for column in columns if column.kind is ColumnType.TEXT])
