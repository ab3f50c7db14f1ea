"""Questions answered by cells of one column (SQA) and an operator on them (WikiTableQuestions).

A softmax over the columns of the table chooses a column, sigmoids choose its cells; the header cell is trained as a
negative (docs/notes.md, notes 24 and 25). Cells are packed as in ``mate_cli.models.table_qa``, which calls them places.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mate_cli.encoding.batch import Batch
from mate_cli.encoding.features import NO_ANSWER, EncodingOptions
from mate_cli.encoding.row_fields import row_field
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel, mean_by_group
from mate_cli.models.table_qa import Grid, TableLogits
from mate_cli.tables.aggregation import NONE, OPERATORS, TAPAS_OPERATORS, operator_named
from mate_cli.tables.table import Coordinate
from mate_cli.tasks.cell_selection import candidates_of
from mate_cli.tasks.grouped import first_best_by_group, log_softmax_by_group
from mate_cli.tasks.task import Task, Verdict
from mate_cli.tasks.weak_supervision import WeakSupervision, expected_result, known_operator_losses


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The cells that answer a question, and the operator on them.

    Attributes:
        cells: the chosen cells of one column, row-major; probabilities: of these cells.
        aggregation: name of one of ``OPERATORS``; NONE for a model without aggregation.
        aggregation_probability: of the operator; 1 for a model without aggregation.
    """

    id: str
    cells: tuple[Coordinate, ...]
    probabilities: tuple[float, ...]
    aggregation: str = NONE.name
    aggregation_probability: float = 1.0


@dataclass(frozen=True, slots=True)
class TableQA(Task):
    """The objective of table question answering (docs/notes.md, notes 24, 25 and 31).

    Attributes:
        temperature: divisor of token logits; zero_head: start new weights for cells and columns at 0.
        surest: if no cell has a probability over 0.5, answer with the likeliest; to count, take as many of the
            likeliest cells as expected, at least one. The release answers nothing or 0 there, which no question of SQA
            or WikiTableQuestions asks for.
        contrast: weight of ``contrast_losses``; 0 in the release.
        weak: supervision of operators; None: the model has no operators.
        operators: how many of ``OPERATORS`` the model has; without ``weak`` none.
    """

    temperature: float = 1.0
    zero_head: bool = False
    surest: bool = True
    contrast: float = 0.0
    weak: WeakSupervision | None = None
    operators: int = len(TAPAS_OPERATORS)
    metric: str = "accuracy"

    @property
    def title(self) -> str:
        return "exact cells" if self.weak is None else "exact cells or result"

    def prepare_model(self, config: MateConfig) -> None:
        config.temperature = self.temperature
        config.num_aggregation_labels = 0 if self.weak is None else self.operators
        config.init_cell_selection_weights_to_zero = self.zero_head
        config.allow_empty_column_selection = False

    def encoding(self, options: EncodingOptions) -> EncodingOptions:
        return replace(options, whole_answer=True)

    def scorable(self, rows: Any) -> np.ndarray:
        operator, has_cells = row_field(rows, "operator"), row_field(rows, "has_candidate").astype(bool)
        has_none = operator == NO_ANSWER
        if self.weak is None:
            return has_cells | has_none
        has_value = np.isfinite(row_field(rows, "answer_value"))
        return (operator < self.operators) & (has_cells | has_value | has_none)

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> TableLogits:
        logits: TableLogits = model(**batch.encoder_inputs, grid=batch_grid(batch))
        return logits

    def losses(self, logits: TableLogits, batch: Batch) -> Tensor:
        grid = batch_grid(batch)
        selection, has_cells = selection_loss(logits, grid, batch.is_candidate)
        has_none = batch.operator == NO_ANSWER
        probability = cell_probabilities(logits, batch)
        selection = torch.where(has_none, refusal_losses(logits, probability, batch), selection)
        if self.contrast:
            selection = selection + self.contrast * contrast_losses(logits, grid, batch.is_candidate)
        if self.weak is None:
            return selection
        label = torch.where(has_none, OPERATORS.index(NONE), batch.operator)
        is_known = (label >= 0) & (label < self.operators)
        computes = self.weak.computes(logits.operators, batch.answer_value, has_cells) & ~is_known
        value = torch.where(computes[batch.cell_document], batch.cell_value, 0.0)  # the rest is not computed
        expected = expected_result(logits.operators, probability, value, batch.cell_document)
        weak = self.weak.losses(logits.operators, expected, batch.answer_value, computes)
        known = known_operator_losses(logits.operators, torch.where(is_known, label, -1))
        losses = torch.where(is_known, known, weak) + torch.where(computes, 0.0, selection)
        return torch.where(computes | has_cells | has_none | is_known, losses, 0.0)

    def predictions(self, logits: TableLogits, batch: Batch) -> list[TableAnswer]:
        probability = cell_probabilities(logits, batch)
        operators = _best_operators(logits.operators[: len(batch.ids)])
        is_chosen = probability > 0.5
        if self.surest:
            is_chosen |= _surest_of_none(probability, is_chosen, batch.cell_document, operators)
        chosen = is_chosen.nonzero().squeeze(1)
        parts = (batch.cell_document, batch.cell_row, batch.cell_column, probability)
        by_document: list[list[tuple[Coordinate, float]]] = [[] for _ in batch.ids]
        for document, row, column, value in zip(*(part[chosen].tolist() for part in parts), strict=True):
            by_document[document].append(((row, column), value))
        return [
            TableAnswer(example, tuple(place for place, _ in cells), tuple(p for _, p in cells), *operator)
            for example, cells, operator in zip(batch.ids, by_document, operators, strict=True)
        ]

    def verdicts(self, predictions: Sequence[TableAnswer], batch: Batch) -> list[Verdict]:
        """Right are exactly the answer's cells, or its numeric value if that is known.

        Stricter than the official denotation, which compares texts: another cell with the same text is wrong.
        """
        candidates, values = candidates_of(batch), _values_of(batch)
        return [
            Verdict(
                answer.id,
                1.0,
                (answer.aggregation == NONE.name and answer.cells != () and {*answer.cells} == candidates[answer.id])
                or (self.weak is not None and math.isclose(_result(answer, numbers), value, rel_tol=1e-6)),
            )
            for answer, numbers, value in zip(predictions, values, batch.answer_value.tolist(), strict=True)
        ]


def combined(answers: Sequence[TableAnswer]) -> TableAnswer:
    """Put together the answers of parts of a table, whose cells are placed in it.

    Its operator is that of most answers, its cells those above 0.5 in the column of most of them (first of equals).
    """
    operator, _ = Counter(answer.aggregation for answer in answers).most_common(1)[0]
    pairs = [pair for answer in answers for pair in zip(answer.cells, answer.probabilities, strict=True)]
    sure = {cell: probability for cell, probability in pairs if probability > 0.5}
    columns = Counter(column for _, column in sure)
    best = max(columns, key=columns.__getitem__, default=None)
    chosen = sorted(cell for cell in sure if cell[1] == best)
    agreed = sum(answer.aggregation_probability for answer in answers if answer.aggregation == operator) / len(answers)
    return TableAnswer(answers[0].id, tuple(chosen), tuple(sure[cell] for cell in chosen), operator, agreed)


def batch_grid(batch: Batch) -> Grid:
    """The cell of each token of a batch, and the column of each cell."""
    headers = torch.arange(len(batch.header_document), device=batch.cell.device)
    return Grid(
        place=torch.where(batch.header < 0, batch.cell, len(batch.cell_document) + batch.header),
        column=torch.cat([batch.cell_header, headers]),
        document=batch.header_document,
        first=batch.first,
        text=batch.text,
    )


def selection_loss(logits: TableLogits, grid: Grid, is_candidate: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of choosing column and cells (docs/notes.md, note 24).

    The target column has the most tokens in cells of the answer, the first of equals; other cells of the answer are
    ignored.

    Args:
        is_candidate: bool ``[cells]``, the body cells of the answer.

    Returns:
        the loss of each document ``[documents]``, 0 without an answer cell (the release: 10,000), and the documents
        with an answer cell, bool ``[documents]``.
    """
    documents = len(grid.first)
    is_answer = _answer_places(grid, is_candidate)
    column = _answer_columns(grid, is_answer)
    has_cells = column >= 0
    log_p = log_softmax_by_group(logits.columns, grid.document, documents)
    loss = torch.where(has_cells, -log_p[column.clamp(min=0)], 0.0)
    competes = grid.column == column[grid.document[grid.column]]
    wrong = F.binary_cross_entropy_with_logits(logits.places, is_answer.to(log_p.dtype), reduction="none")
    return loss + _mean_by_document(wrong, competes, grid), has_cells


def contrast_losses(logits: TableLogits, grid: Grid, is_candidate: Tensor) -> Tensor:
    """The mean of -log p over the answer cells ``[documents]``; p is a softmax over their column with its header.

    In ``selection_loss``, a mean over all cells of a column, the right cell has less weight the longer the column.
    Here its weight is the same in any column, which helps short trainings.

    Args:
        is_candidate: bool ``[cells]``, the body cells of the answer; those outside its column (``selection_loss``)
            are ignored.
    """
    is_answer = _answer_places(grid, is_candidate)
    in_column = is_answer & (grid.column == _answer_columns(grid, is_answer)[grid.document[grid.column]])
    log_p = log_softmax_by_group(logits.places, grid.column, len(grid.document))
    return _mean_by_document(-log_p, in_column, grid)


def refusal_losses(logits: TableLogits, probability: Tensor, batch: Batch) -> Tensor:
    """-log(1 - p) of the likeliest cell, ``[documents]``: what a question that the table does not answer teaches.

    Args:
        probability: of each cell, ``cell_probabilities``; it says which cell is meant, the loss is that of its logit.
    """
    surest = first_best_by_group(probability.detach(), batch.cell_document, len(batch.first))
    return torch.where(surest >= 0, F.softplus(logits.places)[surest.clamp(min=0)], 0.0)


def cell_probabilities(logits: TableLogits, batch: Batch) -> Tensor:
    """The probability of each cell, ``[cells]``; 0 outside the likeliest column of its table (first of equals).

    Also 0 in a table where no column is likelier than none (``TableLogits.nothing``).
    """
    columns = logits.columns[: len(batch.header_document)].detach()
    best = first_best_by_group(columns, batch.header_document, len(batch.first))
    if len(logits.nothing):
        best = torch.where(columns[best.clamp(min=0)] > logits.nothing[: len(best)], best, -1)
    is_in_best = batch.cell_header == best[batch.cell_document]
    return torch.where(is_in_best, logits.places[: len(is_in_best)].sigmoid(), 0.0)


def _answer_places(grid: Grid, is_candidate: Tensor) -> Tensor:
    """Mark the places of the answer, bool ``[places]``; header cells never are."""
    return torch.cat([is_candidate, torch.zeros_like(grid.document, dtype=torch.bool)])


def _mean_by_document(values: Tensor, counts: Tensor, grid: Grid) -> Tensor:
    """The mean of the ``values`` ``[places]`` that count, ``[documents]``; 0 if none does."""
    return mean_by_group(values, torch.where(counts, grid.document[grid.column], -1), len(grid.first))


def _answer_columns(grid: Grid, is_answer: Tensor) -> Tensor:
    """The column of each document with most tokens in ``is_answer`` ``[places]``, -1 if there is none."""
    columns = torch.zeros(len(grid.document), device=grid.column.device)
    column = grid.column[grid.place.clamp(min=0)]
    labelled = is_answer[grid.place.clamp(min=0)] & (grid.place >= 0)
    columns = columns.index_add(0, column, labelled.to(columns.dtype))
    best = first_best_by_group(columns, grid.document, len(grid.first))
    return torch.where((best >= 0) & (columns[best.clamp(min=0)] > 0), best, -1)


def _surest_of_none(
    probability: Tensor, is_chosen: Tensor, document: Tensor, operators: Sequence[tuple[str, float]]
) -> Tensor:
    """Mark the likeliest cells of each document without a chosen cell, bool ``[cells]``; the first of equals.

    One cell; to count, the expected number of cells, rounded, at least one.
    """
    expected = probability.new_zeros(len(operators)).index_add(0, document, probability).round()
    counts = torch.tensor([operator_named(name).counts for name, _ in operators], device=document.device)
    number = torch.where(counts, expected.clamp(min=1), 1.0).index_fill(0, document[is_chosen], 0.0)
    order = probability.argsort(descending=True, stable=True)
    order = order[document[order].argsort(stable=True)]
    before = torch.searchsorted(document[order], document[order])
    rank = torch.arange(len(order), device=order.device) - before
    return torch.zeros_like(is_chosen).index_fill(0, order[rank < number[document[order]]], True)


def _best_operators(logits: Tensor) -> list[tuple[str, float]]:
    if logits.shape[1] == 0:
        return [(NONE.name, 1.0)] * len(logits)
    probability, label = logits.softmax(1).max(1)
    return [(OPERATORS[k].name, p) for k, p in zip(label.tolist(), probability.tolist(), strict=True)]


def _values_of(batch: Batch) -> list[dict[Coordinate, float]]:
    """The numbers in the cells of each example, NaN for other cells."""
    values: list[dict[Coordinate, float]] = [{} for _ in batch.ids]
    parts = (batch.cell_document, batch.cell_row, batch.cell_column, batch.cell_value)
    for document, row, column, value in zip(*(part.tolist() for part in parts), strict=True):
        values[document][row, column] = value
    return values


def _result(answer: TableAnswer, value: Mapping[Coordinate, float]) -> float:
    """The answer as a number, or NaN."""
    numbers, operator = [value[cell] for cell in answer.cells], operator_named(answer.aggregation)
    if operator.compute is None or len(numbers) < operator.least:
        return numbers[0] if len(numbers) == 1 else math.nan
    return operator.compute(numbers)
