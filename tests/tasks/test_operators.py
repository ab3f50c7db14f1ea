"""Operators on cells: which answers are right, and what teaches an operator."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from mate_cli.encoding.batch import Collator
from mate_cli.metrics.denotation import execute
from mate_cli.models.table_qa import TableLogits
from mate_cli.tables.aggregation import OPERATORS, TAPAS_OPERATORS
from mate_cli.tables.table import Cell, Table
from mate_cli.tasks.table_qa import TableAnswer, TableQA, batch_grid, combined, selection_loss
from mate_cli.tasks.weak_supervision import WeakSupervision, expected_result
from tests.tasks.packed_tables import FULL, WEAK, table_row


@pytest.mark.parametrize(
    ("cells", "operator", "right"),
    [
        ([0, 1], "NONE", True),
        ([0], "NONE", False),
        ([0, 1, 2], "NONE", False),
        ([2], "NONE", True),  # another cell with the number
        ([0, 1], "SUM", False),
        ([3, 4], "SUM", True),
        ([2], "AVERAGE", True),
        ([2, 3], "AVERAGE", False),
        ([0, 1, 2, 3, 4], "COUNT", False),
        ([0, 3], "SUM", False),  # one of them is no number
        ([2, 3], "DIFFERENCE", False),
        ([2], "DIFFERENCE", True),  # of one cell: the cell
        ([], "NONE", False),
        ([], "AVERAGE", False),
    ],
)
def test_what_is_right_in_validation(cells: list[int], operator: str, right: bool) -> None:
    """The answer is the first two of five cells, or 6."""
    types = np.array([[0] * 7, *([1, 1, row, 0, 0, 0, 0] for row in range(6))])
    labels, values = np.array([0, 0, 1, 1, 0, 0, 0]), np.array([0, 0, np.nan, np.nan, 6, 2, 4], dtype=float)
    batch = Collator(FULL)([table_row("0", types, labels, values, answer_value=6.0)])
    chosen = tuple((row, 0) for row in cells)
    answer = TableAnswer("0", chosen, (0.9,) * len(chosen), operator, 0.8)
    (verdict,) = TableQA(weak=WEAK).verdicts([answer], batch)
    assert (verdict.question, verdict.right) == ("0", right)
    (verdict,) = TableQA().verdicts([answer], batch)
    assert verdict.right == (right and cells == [0, 1])


def test_answers_of_parts_are_put_together_in_the_column_and_with_the_operator_of_most() -> None:
    parts = [
        TableAnswer("0", ((0, 1), (2, 1)), (0.9, 0.6), "SUM", 0.8),
        TableAnswer("0", ((3, 1), (4, 1)), (0.7, 0.5), "COUNT", 1.0),  # not surer than a half
        TableAnswer("0", ((6, 2),), (0.9,), "SUM", 0.4),
        TableAnswer("0", ((8, 1), (2, 1)), (0.8, 0.7), "SUM", 0.8),  # a row that two parts have
    ]
    both = combined(parts)
    assert both == TableAnswer("0", ((0, 1), (2, 1), (3, 1), (8, 1)), (0.9, 0.7, 0.7, 0.8), "SUM", 0.5)
    unsure = TableAnswer("0", ((0, 1),), (0.4,), "COUNT", 0.6)
    assert combined([unsure, unsure]) == TableAnswer("0", (), (), "COUNT", 0.6)


def test_without_an_answer_nothing_is_right() -> None:
    types = np.array([[0] * 7, [1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0]])
    batch = Collator(FULL)([table_row("0", types)])
    answers = [
        TableAnswer("0", cells, (0.9,) * len(cells), operator.name)
        for cells in ((), ((0, 0),))
        for operator in OPERATORS
    ]
    for task in (TableQA(), TableQA(weak=WEAK)):
        assert not any(task.verdicts([answer], batch)[0].right for answer in answers)


def test_an_unknown_operator_is_refused_by_prediction_and_execution() -> None:
    types = np.array([[0] * 7, *([1, 1, row, 0, 0, 0, 0] for row in range(4))])
    batch = Collator(FULL)([table_row("0", types, values=np.array([0, 0, 2, 4, 9], dtype=float), answer_value=15.0)])
    cells = ((0, 0), (1, 0), (2, 0))
    table = Table("t", (Cell("n"),), tuple((Cell(text),) for text in ("2", "4", "9")))
    with pytest.raises(ValueError, match="unknown operator 'MAX'"):
        TableQA(weak=WEAK).verdicts([TableAnswer("0", cells, (0.9,) * 3, "MAX")], batch)
    with pytest.raises(ValueError, match="unknown operator 'MAX'"):
        execute(table, cells, "MAX")


@given(
    st.sampled_from([operator.name for operator in OPERATORS]),
    st.lists(st.integers(-1000, 1000).filter(bool), min_size=1, max_size=5),
)
def test_loss_prediction_and_execution_agree_on_every_operator(name: str, numbers: list[int]) -> None:
    """Sure of its cells and of the operator, the loss expects what prediction and execution compute.

    Of a difference it expects twice the standard deviation, which is the difference of two cells.
    """
    table = Table("t", (Cell("n"),), tuple((Cell(str(number)),) for number in numbers))
    cells = tuple((row, 0) for row in range(len(numbers)))
    executed = execute(table, cells, name)
    if len(executed) != 1:
        return  # several cells are no number
    result = float(executed[0])
    types = np.array([[0] * 7, *([1, 1, row, 0, 0, 0, 0] for row in range(len(numbers) + 1))])
    values = np.array([0, 0, *numbers], dtype=float)
    batch = Collator(FULL)([table_row("0", types, values=values, answer_value=result)])
    answer = TableAnswer("0", cells, (0.9,) * len(cells), name)
    assert TableQA(weak=WEAK).verdicts([answer], batch)[0].right
    label = [operator.name for operator in OPERATORS].index(name)
    if label and (name != "DIFFERENCE" or len(numbers) == 2):
        sure = torch.full((1, len(OPERATORS)), -1e4).index_fill(1, torch.tensor([label]), 1e4)
        expected = expected_result(sure, torch.ones(len(numbers)), batch.cell_value, batch.cell_document)
        assert expected.item() == pytest.approx(result, rel=1e-5)


def test_a_known_operator_is_learnt_with_the_cells_and_not_from_the_result() -> None:
    """Full supervision of the release: cross entropy of the operator, and the loss of the cells, in every example."""
    types = np.array([[0, 0, 0, 0, 0, 0, 0], *([1, 1, row, 0, 0, 0, 0] for row in range(3))])
    labels, values = np.array([0, 0, 1, 0]), np.array([math.nan, math.nan, 3.0, 4.0])
    known = range(len(TAPAS_OPERATORS))
    rows = [table_row(str(n), types, labels, values, answer_value=3.0, operator=n) for n in (-1, *known)]
    batch = Collator(FULL)(rows)
    operators = torch.tensor([[0.5, 2.0, -1.0, 0.0]], dtype=torch.float64).repeat(len(rows), 1)
    grid, places = batch_grid(batch), torch.tensor([0.3, -0.2], dtype=torch.float64).repeat(len(rows))
    headers = torch.zeros(len(rows), dtype=torch.float64)
    logits = TableLogits(torch.cat([places, headers]), torch.zeros(len(rows), dtype=torch.float64), operators)
    losses = TableQA(weak=WEAK).losses(logits, batch)
    selection = selection_loss(logits, grid, batch.is_candidate)[0]
    torch.testing.assert_close(losses[1:], selection[1:] - operators[0].log_softmax(0))
    told = TableQA(weak=WeakSupervision(cell_select_pref=1.0)).losses(logits, batch)
    torch.testing.assert_close(told[1:], losses[1:])  # the settings of weak supervision change nothing
    assert not torch.isclose(told[0], losses[0])


def test_a_known_operator_is_learnt_where_its_cells_did_not_fit() -> None:
    types = np.array([[0] * 7, *([1, 1, row, 0, 0, 0, 0] for row in range(3))])
    batch = Collator(FULL)([table_row("0", types, answer_value=3.0, operator=3)])
    operators = torch.tensor([[0.5, 2.0, -1.0, 0.0]], requires_grad=True)
    places, columns = torch.tensor([0.3, -0.2, 0.0], requires_grad=True), torch.zeros(1)
    (loss,) = TableQA(weak=WEAK).losses(TableLogits(places, columns, operators), batch)
    torch.testing.assert_close(loss, -operators[0].log_softmax(0)[3])
    loss.backward()
    assert operators.grad is not None
    assert operators.grad.abs().sum() > 0
    assert places.grad is None or not places.grad.any()


@given(
    st.lists(st.floats(-1e6, 1e6) | st.floats(width=32, allow_nan=False), min_size=1, max_size=4), st.floats(-30, 30)
)
@example([1e3, 1e21], 0.0)
@example([1.5e29], -7.0)
@example([1e38], -23.0)
def test_the_gradient_of_a_difference_is_finite(numbers: list[float], logit: float) -> None:
    """Also where all cells are equal, and where none or one has any probability."""
    scores = torch.full((len(numbers),), logit, requires_grad=True)
    operators = torch.zeros(1, len(OPERATORS), requires_grad=True)
    value, document = torch.tensor(numbers), torch.zeros(len(numbers), dtype=torch.int64)
    (result,) = expected_result(operators, scores.sigmoid(), value, document)
    result.backward()
    assert scores.grad is not None
    assert result.isfinite()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("answer", [math.nan, 1e21])
def test_a_table_of_huge_numbers_spoils_no_gradient(answer: float) -> None:
    """Prefixes of units go to 1e24, whose square is infinite in 32 bits; their example computes its answer or not."""
    types = np.array([[0, 0, 0, 0, 0, 0, 0], *([1, 1, row, 0, 0, 0, 0] for row in range(4))])
    labels, values = np.array([0, 0, 1, 0, 0]), np.array([math.nan, math.nan, 1e3, 1e21, 1e24])
    batch = Collator(FULL)([table_row("0", types, labels, values, answer_value=answer)])
    places = torch.zeros(4, requires_grad=True)
    logits = TableLogits(places, torch.zeros(1), torch.tensor([[0.0, 1.0, 1.0, 1.0, 1.0]]))
    (loss,) = TableQA(weak=WeakSupervision(answer_loss_cutoff=0.7), operators=5).losses(logits, batch)
    loss.backward()
    assert loss.isfinite()
    assert places.grad is not None
    assert places.grad.isfinite().all()


def test_a_difference_of_large_numbers_is_exact() -> None:
    """Squared are distances to the mean; squares of the numbers themselves have too many digits."""
    sure = torch.full((1, len(OPERATORS)), -1e4).index_fill(1, torch.tensor([4]), 1e4)
    value = torch.tensor([1_913_000.0, 1_913_047.0])
    expected = expected_result(sure, torch.ones(2), value, torch.zeros(2, dtype=torch.int64))
    assert expected.item() == pytest.approx(47, rel=1e-5)


def test_a_model_without_an_operator_does_not_learn_from_it() -> None:
    types = np.array([[0, 0, 0, 0, 0, 0, 0], *([1, 1, row, 0, 0, 0, 0] for row in range(3))])
    labels, values = np.array([0, 0, 1, 1]), np.array([math.nan, math.nan, 3.0, 4.0])
    rows = [table_row(str(n), types, labels, values, answer_value=1.0, operator=n) for n in (0, 4)]
    columns = {"has_candidate": [True, True], "answer_value": [math.nan, 1.0], "operator": [0, 4]}
    four, five = TableQA(weak=WEAK), TableQA(weak=WEAK, operators=len(OPERATORS))
    assert four.scorable(columns).tolist() == [True, False]
    assert five.scorable(columns).tolist() == [True, True]
    batch, headers = Collator(FULL)(rows), torch.zeros(2)
    for task, number in ((four, 4), (five, 5)):
        logits = TableLogits(torch.zeros(6), headers, torch.zeros(2, number))
        assert task.losses(logits, batch).isfinite().all()
