"""Spans, their loss and the best of them against brute force over each document."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.tasks.grouped import log_softmax_by_group
from mate_cli.tasks.span_reading import Spans, best_spans, span_loss, valid_spans


@st.composite
def packed(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor, int, int]:
    """Documents of question and header tokens (cell -1) and cells of some tokens, the longest span, and how many."""
    cells, documents, number = [], [], 0
    many = draw(st.integers(1, 3))
    for document in range(many):
        own = [-1] * draw(st.integers(1, 3))
        for length in draw(st.lists(st.integers(1, 6), max_size=3)):
            own += [number] * length
            number += 1
        cells += own
        documents += [document] * len(own)
    return torch.tensor(cells), torch.tensor(documents), many, draw(st.integers(1, 7))


def every_pair(cell: torch.Tensor, document: torch.Tensor, max_span: int) -> list[tuple[int, int, int]]:
    """All valid spans straight from the definition, by first token, then by last."""
    tokens = range(len(cell))
    return [
        (first, last, int(document[first]))
        for first in tokens
        for last in tokens
        if 0 <= last - first < max_span and cell[first] == cell[last] >= 0
    ]


def logits_of(data: st.DataObject, spans: Spans) -> torch.Tensor:
    # Few values, so that there are ties.
    values = st.lists(st.integers(-3, 3), min_size=len(spans.first), max_size=len(spans.first))
    return torch.tensor(data.draw(values), dtype=torch.float64)


@settings(max_examples=80)
@given(packed())
def test_valid_spans_are_all_pairs_in_a_cell(batch: tuple[torch.Tensor, torch.Tensor, int, int]) -> None:
    cell, document, _, max_span = batch
    spans = valid_spans(cell, document, max_span)
    assert list(zip(*(part.tolist() for part in spans), strict=True)) == every_pair(cell, document, max_span)


@settings(max_examples=80)
@given(packed(), st.data())
def test_loss_and_gradient_equal_brute_force(
    batch: tuple[torch.Tensor, torch.Tensor, int, int], data: st.DataObject
) -> None:
    cell, document, documents, max_span = batch
    spans = valid_spans(cell, document, max_span)
    logits = logits_of(data, spans).requires_grad_()
    places = list(zip(spans.first.tolist(), spans.last.tolist(), strict=True))
    answers = [data.draw(st.sampled_from([(-1, -1), (0, 0), *places])) for _ in range(documents)]
    loss, scorable = span_loss(logits, spans, torch.tensor(answers))
    (gradient,) = torch.autograd.grad(loss.sum() + 0 * logits.sum(), logits)
    for number in range(documents):
        own = [i for i, d in enumerate(spans.document.tolist()) if d == number]
        value = logits.tolist()
        total = sum(math.exp(value[i]) for i in own)
        right = [i for i in own if places[i] == answers[number]]
        assert scorable[number].item() == bool(right)
        expected = -math.log(math.exp(value[right[0]]) / total) if right else 0.0
        assert loss[number].item() == pytest.approx(expected, abs=1e-9)
        for i in own:
            slope = math.exp(value[i]) / total - (i in right) if right else 0.0
            assert gradient[i].item() == pytest.approx(slope, abs=1e-9)


@settings(max_examples=80)
@given(packed(), st.data())
def test_of_equal_spans_the_larger_start_and_end_is_best(
    batch: tuple[torch.Tensor, torch.Tensor, int, int], data: st.DataObject
) -> None:
    cell, document, documents, max_span = batch
    spans = valid_spans(cell, document, max_span)
    logits = logits_of(data, spans)
    best = best_spans(logits, spans.document, documents).tolist()
    for number in range(documents):
        own = [i for i, d in enumerate(spans.document.tolist()) if d == number]
        key = {i: (logits[i].item(), spans.first[i].item(), spans.last[i].item()) for i in own}
        assert best[number] == (max(own, key=key.__getitem__) if own else -1)


def test_probabilities_sum_to_one_over_each_document() -> None:
    cell, document = torch.tensor([-1, 0, 0, 1, -1, 2, 2, 2]), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    spans = valid_spans(cell, document, 2)
    p = log_softmax_by_group(torch.randn(len(spans.first)), spans.document, 2).exp()
    torch.testing.assert_close(torch.zeros(2).index_add(0, spans.document, p), torch.ones(2))
