"""Give the answer of a model of questions the form that the question asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mate_cli.tables.aggregation import COUNT, NONE, SUM
from mate_cli.tables.answer_form import (
    amounts_beside,
    amounts_of_named,
    asks_for_count,
    asks_for_one,
    asks_for_sum,
    each_once,
    with_all_names,
)
from mate_cli.tables.most_frequent import most_frequent
from mate_cli.tables.table import Table
from mate_cli.tasks.table_qa import TableAnswer


def as_asked(question: str, table: Table, prediction: TableAnswer) -> TableAnswer:
    """Return a prediction with the rows that have all names of the question, with their amounts, with those beside
    the texts that it adds up, with the sum or the count as its operator, with each of equal cells once, with its
    surest cell alone, or with a cell of the largest group of rows, each where the words of the question ask for that.
    A prediction without cells stays as it is.
    """
    if prediction.cells and (group := most_frequent(question, table)) is not None:
        surest = (max(prediction.probabilities),)
        return replace(prediction, cells=(group,), probabilities=surest, aggregation=NONE.name)
    named = with_all_names(question, table, prediction.cells, prediction.aggregation)
    prediction = _of_cells(prediction, named)
    cells, sure = prediction.cells, prediction.probabilities
    if amounts := amounts_of_named(question, table, cells, prediction.aggregation):
        least = (min(sure),) * len(amounts)
        operator = SUM if len(amounts) > 1 else NONE
        return replace(prediction, cells=tuple(amounts), probabilities=least, aggregation=operator.name)
    if beside := amounts_beside(question, table, cells, prediction.aggregation):
        return replace(prediction, cells=tuple(beside), probabilities=(min(sure),) * len(beside))
    if asks_for_sum(question, table, cells, prediction.aggregation):
        return replace(prediction, aggregation=SUM.name)
    if asks_for_count(question, table, cells, prediction.aggregation):
        prediction = replace(prediction, aggregation=COUNT.name)
    if prediction.aggregation == COUNT.name:
        return _of_cells(prediction, each_once(question, table, cells))
    if prediction.aggregation != NONE.name or len(cells) < 2 or not asks_for_one(question, table, cells):
        return prediction
    return _of_cells(prediction, [max(range(len(cells)), key=sure.__getitem__)])


def _of_cells(prediction: TableAnswer, places: Sequence[int]) -> TableAnswer:
    cells, sure = prediction.cells, prediction.probabilities
    return replace(prediction, cells=tuple(cells[i] for i in places), probabilities=tuple(sure[i] for i in places))
