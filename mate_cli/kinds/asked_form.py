"""Give the answer of a model of questions the form that the question asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mate_cli.tables.aggregation import AVERAGE, COUNT, NONE, SUM
from mate_cli.tables.answer_form import (
    amounts_beside,
    amounts_of_named,
    asks_for_count,
    asks_for_one,
    asks_for_sum,
    each_once,
    with_all_names,
)
from mate_cli.tables.asked_columns import in_asked_column
from mate_cli.tables.longest_standing import longest_standing
from mate_cli.tables.most_frequent import most_frequent
from mate_cli.tables.prices import asked_amounts
from mate_cli.tables.ranked_rows import compared_cell, extreme_row, ranked_row
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.whole_lists import whole_list
from mate_cli.tasks.table_qa import TableAnswer


def as_asked(question: str, table: Table, prediction: TableAnswer) -> TableAnswer:
    """Return a prediction in the column that the question asks for, with the rows that have all names of the question,
    with their prices or amounts, with those beside the texts that it adds up, with the sum or the count as its
    operator, with each of equal cells once, with its surest cell alone, or with a cell of the largest group of rows, of
    the row that began first or of the one at a place of an order, each where the words of the question ask for that. A
    prediction without cells stays as it is.
    """
    if not prediction.cells:
        return prediction
    if prediction.aggregation == NONE.name:
        prediction = _moved(question, table, prediction)
    if (cell := _sought(question, table, prediction)) is not None:
        surest = (max(prediction.probabilities),)
        return replace(prediction, cells=(cell,), probabilities=surest, aggregation=NONE.name)
    named = with_all_names(question, table, prediction.cells, prediction.aggregation)
    prediction = _of_cells(prediction, named)
    if len(whole := whole_list(question, table, prediction.cells, prediction.aggregation)) > len(prediction.cells):
        prediction = _computing(prediction, whole, prediction.aggregation)
    cells, sure = prediction.cells, prediction.probabilities
    if (paid := asked_amounts(question, table, cells)) is not None:
        return _computing(prediction, paid.cells, paid.operator.name)
    if amounts := amounts_of_named(question, table, cells, prediction.aggregation):
        return _computing(prediction, amounts, (SUM if len(amounts) > 1 else NONE).name)
    if beside := amounts_beside(question, table, cells, prediction.aggregation):
        averages = prediction.aggregation == AVERAGE.name
        return _computing(prediction, beside, (AVERAGE if averages else SUM).name)
    if asks_for_sum(question, table, cells, prediction.aggregation):
        return replace(prediction, aggregation=SUM.name)
    if asks_for_count(question, table, cells, prediction.aggregation):
        prediction = replace(prediction, aggregation=COUNT.name)
    if prediction.aggregation == COUNT.name:
        return _of_cells(prediction, each_once(question, table, cells))
    if prediction.aggregation != NONE.name or len(cells) < 2 or not asks_for_one(question, table, cells):
        return prediction
    return _of_cells(prediction, [max(range(len(cells)), key=sure.__getitem__)])


def _sought(question: str, table: Table, prediction: TableAnswer) -> Coordinate | None:
    """Return the cell that answers a question which models, pointing to cells one by one, hardly ever answer."""
    is_cell = prediction.aggregation == NONE.name
    if is_cell and (named := compared_cell(question, table)) is not None:
        return named
    columns = {column for _, column in prediction.cells}
    rules = (longest_standing, ranked_row, *((extreme_row,) if is_cell else ()))
    rows = (rule(question, table) for rule in rules if len(columns) == 1)
    row = next((row for row in rows if row is not None), None)
    return most_frequent(question, table) if row is None else (row, columns.pop())


def _moved(question: str, table: Table, prediction: TableAnswer) -> TableAnswer:
    cells = in_asked_column(question, table, prediction.cells)
    return prediction if cells == [*prediction.cells] else _computing(prediction, cells, NONE.name)


def _computing(prediction: TableAnswer, cells: Sequence[Coordinate], aggregation: str) -> TableAnswer:
    """Return a prediction of other cells, as sure as the least sure of those that the model chose."""
    least = (min(prediction.probabilities),) * len(cells)
    return replace(prediction, cells=tuple(cells), probabilities=least, aggregation=aggregation)


def _of_cells(prediction: TableAnswer, places: Sequence[int]) -> TableAnswer:
    cells, sure = prediction.cells, prediction.probabilities
    return replace(prediction, cells=tuple(cells[i] for i in places), probabilities=tuple(sure[i] for i in places))
