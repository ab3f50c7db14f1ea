"""Cells, columns and operators of packed tables against plain loops over one table at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.attention import PatternPlanner, widest_shape
from mate_cli.encoding.batch import Batch, Collator
from mate_cli.encoding.features import NO_ANSWER
from mate_cli.encoding.fixed import FixedCollator
from mate_cli.models.configuration import MateConfig
from mate_cli.models.table_qa import MateForTableQuestionAnswering, TableLogits
from mate_cli.tables.aggregation import OPERATORS
from mate_cli.tasks.table_qa import TableQA, batch_grid
from tests.tasks.packed_tables import FULL, WEAK, table_row


class Drawn(NamedTuple):
    """A table with its labels, and a model's scores: of tokens for cells and for columns, of operators."""

    types: np.ndarray
    labels: np.ndarray
    values: np.ndarray
    answer: float
    scores: np.ndarray
    operators: list[int]


@st.composite
def tables(draw: st.DrawFn) -> Drawn:
    """Counts and scores whose means are exact, so that equal scores are equal in any order of adding."""
    question, rows, columns = draw(st.integers(1, 3)), draw(st.sampled_from([0, 1, 3])), draw(st.integers(1, 3))
    places, labels, values = [(0, 0)] * question, [0] * question, [math.nan] * question
    for place in ((row, column) for row in range(rows + 1) for column in range(1, columns + 1)):
        tokens = draw(st.sampled_from([1, 2]))
        places += [place] * tokens
        labels += [int(place[0] > 0 and draw(st.booleans()))] * tokens
        values += [draw(st.sampled_from([math.nan, 3.0, 7.5])) if place[0] else math.nan] * tokens
    types = np.zeros((len(places), 7), dtype=np.int64)
    types[question:, 0] = 1
    types[:, 2], types[:, 1] = np.array(places).T
    scores = draw(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=len(places), max_size=len(places)))
    operators = draw(st.lists(st.integers(-2, 2), min_size=4, max_size=4, unique=True))
    answer = draw(st.sampled_from([math.nan, 2.0, 7.5, 40.0]))
    return Drawn(types, np.array(labels), np.array(values), answer, np.array(scores, dtype=np.float64), operators)


def model_of() -> MateForTableQuestionAnswering:
    """Its states are the scores: the first of the two for cells, the second for columns."""
    sizes = {"hidden_size": 2, "num_attention_heads": 1, "num_hidden_layers": 1, "vocab_size": 9}
    model = MateForTableQuestionAnswering(MateConfig(**sizes, intermediate_size=2)).double().eval()
    model.output_weights.data = torch.tensor([1.0, 0.0], dtype=torch.float64)
    model.column_output_weights.data = torch.tensor([0.0, 1.0], dtype=torch.float64)
    return model


def batched(many: list[Drawn], collator: Collator, **given: Any) -> tuple[Batch, TableLogits]:
    rows = [table_row(str(n), d.types, d.labels, d.values, answer_value=d.answer) for n, d in enumerate(many)]
    batch = collator([row | given for row in rows])
    states = torch.zeros(len(batch.document), 2, dtype=torch.float64)
    operators = torch.zeros(len(batch.first), 4, dtype=torch.float64)
    for number, drawn in enumerate(many):
        states[batch.first[number] :][: len(drawn.scores)] = torch.from_numpy(drawn.scores)
        operators[number] = torch.tensor(drawn.operators)
    logits = MODEL.score(states, torch.zeros(len(batch.first), 2, dtype=torch.float64), batch_grid(batch))
    return batch, logits._replace(operators=operators)


MODEL = model_of()
COLLATORS = {
    "packed": Collator(FULL),
    "of one shape": FixedCollator(PatternPlanner(("full",), "dense"), widest_shape(documents=4, tokens=27)),
}
of_every_batch = pytest.mark.parametrize("collator", COLLATORS.values(), ids=COLLATORS)


class ByHand:
    """The definitions of docs/notes.md, notes 24 and 25, for one table."""

    def __init__(self, drawn: Drawn) -> None:
        places = [(int(row), int(column)) for column, row in drawn.types[:, 1:3] if column]
        self.columns = sorted({column for _, column in places})
        tokens = {place: np.flatnonzero((drawn.types[:, 2:0:-1] == place).all(1)) for place in dict.fromkeys(places)}
        self.logit = {place: drawn.scores[at, 0].mean() for place, at in tokens.items()}
        self.label = {place: drawn.labels[at].max() for place, at in tokens.items()}
        self.value = {place: drawn.values[at][0] for place, at in tokens.items()}
        self.score = {
            c: np.mean([drawn.scores[at, 1].mean() for p, at in tokens.items() if p[1] == c]) for c in self.columns
        }
        self.labelled = {c: sum(drawn.labels[at].sum() for p, at in tokens.items() if p[1] == c) for c in self.columns}
        self.answer, operators = drawn.answer, [math.exp(x) for x in drawn.operators]
        self.operators = [x / sum(operators) for x in operators]

    @property
    def probability(self) -> dict[tuple[int, int], float]:
        chosen = max(self.columns, key=lambda c: (self.score[c], -c))
        return {p: sigmoid(x) for p, x in self.logit.items() if p[1] == chosen and p[0]}

    @property
    def selection(self) -> float | None:
        if not any(self.labelled.values()):
            return None
        column = max(self.columns, key=lambda c: (self.labelled[c], -c))
        loss = math.log(sum(math.exp(x) for x in self.score.values())) - self.score[column]
        cells = [sigmoid(x if self.label[p] else -x) for p, x in self.logit.items() if p[1] == column]
        return loss - sum(map(math.log, cells)) / len(cells)

    @property
    def contrast(self) -> float:
        if not any(self.labelled.values()):
            return 0.0
        column = max(self.columns, key=lambda c: (self.labelled[c], -c))
        scores = {place: x for place, x in self.logit.items() if place[1] == column}
        total = math.log(sum(map(math.exp, scores.values())))
        return float(np.mean([total - x for place, x in scores.items() if self.label[place]]))

    @property
    def expected(self) -> float:
        numbers = [
            (p, 0.0 if math.isnan(self.value[place]) else self.value[place]) for place, p in self.probability.items()
        ]
        count, total = sum(p for p, _ in numbers), sum(p * x for p, x in numbers)
        results = [total, total / count if count else 0.0, count]
        return sum(p * x for p, x in zip(self.operators[1:], results, strict=True)) / sum(self.operators[1:])

    @property
    def weak(self) -> float:
        if math.isnan(self.answer) or (sum(self.operators[1:]) <= WEAK.cell_select_pref and self.selection is not None):
            return 0.0 if self.selection is None else self.selection - math.log(self.operators[0])
        error = abs(self.expected - self.answer)
        huber = error**2 / 2 if error <= WEAK.huber_delta else WEAK.huber_delta * (error - WEAK.huber_delta / 2)
        return huber - math.log(sum(self.operators[1:])) if huber <= (WEAK.answer_loss_cutoff or 0) else 0.0


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@of_every_batch
@settings(max_examples=80)
@given(many=st.lists(tables(), min_size=1, max_size=4))
def test_losses_equal_those_by_hand(collator: Collator, many: list[Drawn]) -> None:
    batch, logits = batched(many, collator)
    filler = [0.0] * (len(batch.first) - len(many))
    selection = [ByHand(drawn).selection or 0.0 for drawn in many]
    assert TableQA().losses(logits, batch).tolist() == pytest.approx(selection + filler, abs=1e-9)
    both = [loss + 0.5 * ByHand(drawn).contrast for loss, drawn in zip(selection, many, strict=True)]
    assert TableQA(contrast=0.5).losses(logits, batch).tolist() == pytest.approx(both + filler, abs=1e-9)
    weak = [ByHand(drawn).weak for drawn in many]
    assert TableQA(weak=WEAK).losses(logits, batch).tolist() == pytest.approx(weak + filler, abs=1e-6)


@of_every_batch
@settings(max_examples=80)
@given(many=st.lists(tables(), min_size=1, max_size=4))
def test_without_an_answer_the_cell_that_would_be_it_is_pushed_down(collator: Collator, many: list[Drawn]) -> None:
    many = [drawn._replace(labels=np.zeros_like(drawn.labels), answer=math.nan) for drawn in many]
    batch, logits = batched(many, collator, operator=NO_ANSWER)
    filler = [0.0] * (len(batch.first) - len(many))
    cells = [-math.log(1 - max(ByHand(drawn).probability.values(), default=0.0)) for drawn in many]
    for contrast in (0.0, 1.0):
        assert TableQA(contrast=contrast).losses(logits, batch).tolist() == pytest.approx(cells + filler, abs=1e-9)
    both = [loss - math.log(ByHand(drawn).operators[0]) for loss, drawn in zip(cells, many, strict=True)]
    assert TableQA(weak=WEAK).losses(logits, batch).tolist() == pytest.approx(both + filler, abs=1e-6)


@of_every_batch
@settings(max_examples=80)
@given(many=st.lists(tables(), min_size=1, max_size=4))
def test_predictions_equal_those_by_hand(collator: Collator, many: list[Drawn]) -> None:
    batch, logits = batched(many, collator)
    batch = batch.on_host()
    sure = TableQA(weak=WEAK, surest=False).predictions(logits, batch)
    for drawn, answer, always in zip(many, sure, TableQA(weak=WEAK).predictions(logits, batch), strict=True):
        by_hand = ByHand(drawn)
        cells = {(row - 1, column - 1): p for (row, column), p in by_hand.probability.items() if p > 0.5}
        if cells or not by_hand.probability:
            assert always == answer
        else:
            ranked = sorted(by_hand.probability, key=lambda place: (-by_hand.probability[place], place))
            counted = max(1, round(sum(by_hand.probability.values())))
            best = ranked[: counted if answer.aggregation == "COUNT" else 1]
            assert always.cells == tuple((row - 1, column - 1) for row, column in sorted(best))
        assert list(answer.cells) == sorted(cells)
        assert list(answer.probabilities) == pytest.approx([cells[cell] for cell in sorted(cells)])
        assert answer.aggregation_probability == pytest.approx(max(by_hand.operators))
        assert answer.aggregation == OPERATORS[by_hand.operators.index(max(by_hand.operators))].name


@of_every_batch
@settings(max_examples=40)
@given(many=st.lists(tables(), min_size=1, max_size=4))
def test_nothing_flows_back_that_is_not_a_number(collator: Collator, many: list[Drawn]) -> None:
    """Unknown answers and cells without a number must not reach the gradients."""
    batch, logits = batched(many, collator)
    inputs = [part.detach().requires_grad_() for part in logits]
    TableQA(weak=WEAK).losses(TableLogits(*inputs), batch).sum().backward()
    assert all(part.grad is None or part.grad.isfinite().all() for part in inputs)


def test_an_answer_that_overflows_is_not_learnt() -> None:
    """ "1e39" is a number to a parser and infinite in 32 bits."""
    types = np.array([[0] * 7, [1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0]])
    batch = Collator(FULL)([table_row("0", types, values=np.array([0.0, 0.0, np.inf]), answer_value=np.inf)])
    logits = TableLogits(torch.zeros(2), torch.zeros(1), torch.zeros(1, 4))
    assert TableQA(weak=WEAK).losses(logits, batch).tolist() == [0.0]
    assert scorable(TableQA(weak=WEAK), has_candidate=[False], answer_value=[np.inf], operator=[-1]) == [False]


def test_a_model_without_operators_answers_by_cells_alone() -> None:
    types = np.array([[0] * 7, [1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0]])
    batch = Collator(FULL)([table_row("0", types)])
    (answer,) = TableQA().predictions(TableLogits(torch.ones(2), torch.zeros(1), torch.zeros(1, 0)), batch)
    assert (answer.aggregation, answer.aggregation_probability) == ("NONE", 1.0)
    assert answer.cells == ((0, 0),)


def scorable(task: TableQA, **columns: Any) -> list[bool]:
    found: list[bool] = task.scorable(columns).tolist()
    return found


def test_which_examples_have_a_loss() -> None:
    columns = {
        "has_candidate": [True, False, False, True, False],
        "answer_value": [np.nan, 3.0, np.nan, 1.0, np.nan],
        "operator": [-1, -1, -1, -1, NO_ANSWER],
    }
    assert scorable(TableQA(), **columns) == [True, False, False, True, True]
    assert scorable(TableQA(weak=WEAK), **columns) == [True, True, False, True, True]
