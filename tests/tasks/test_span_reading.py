"""Spans, their loss and the best of them against brute force over each document."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.tasks.span_reading import best_spans, log_sums, mask_spans, span_loss


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


def drawn_logits(data: st.DataObject, tokens: int, max_span: int) -> torch.Tensor:
    # Few values, so that there are ties.
    values = st.lists(st.integers(-3, 3), min_size=max_span * tokens, max_size=max_span * tokens)
    return torch.tensor(data.draw(values), dtype=torch.float64).view(max_span, tokens)


@settings(max_examples=80)
@given(packed())
def test_masked_are_all_spans_but_those_in_a_cell(batch: tuple[torch.Tensor, torch.Tensor, int, int]) -> None:
    cell, document, _, max_span = batch
    is_kept = mask_spans(torch.zeros(max_span, len(cell)), cell) == 0
    spans = [(first, first + length) for first, length in is_kept.T.nonzero().tolist()]
    assert spans == [(first, last) for first, last, _ in every_pair(cell, document, max_span)]


@settings(max_examples=80)
@given(packed(), st.data())
def test_loss_and_gradient_equal_brute_force(
    batch: tuple[torch.Tensor, torch.Tensor, int, int], data: st.DataObject
) -> None:
    cell, document, documents, max_span = batch
    logits = drawn_logits(data, len(cell), max_span).requires_grad_()
    spans = every_pair(cell, document, max_span)
    answers = []
    for number in range(documents):
        in_question = (document.tolist().index(number),) * 2
        own = [span[:2] for span in spans if span[2] == number]
        answers.append(data.draw(st.sampled_from([(-1, -1), in_question, *own])))
    loss, scorable = span_loss(mask_spans(logits, cell), document, torch.tensor(answers))
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    expected = torch.zeros_like(gradient)
    for number in range(documents):
        logit = {span[:2]: logits[span[1] - span[0], span[0]].item() for span in spans if span[2] == number}
        total = sum(map(math.exp, logit.values()))
        is_span = answers[number] in logit
        assert scorable[number].item() == is_span
        right = math.log(total) - logit[answers[number]] if is_span else 0.0
        assert loss[number].item() == pytest.approx(right, abs=1e-9)
        for (first, last), value in logit.items() if is_span else ():
            expected[last - first, first] = math.exp(value) / total - ((first, last) == answers[number])
    torch.testing.assert_close(gradient, expected)


@settings(max_examples=80)
@given(packed(), st.data())
def test_of_equal_spans_the_larger_start_and_end_is_best(
    batch: tuple[torch.Tensor, torch.Tensor, int, int], data: st.DataObject
) -> None:
    cell, document, documents, max_span = batch
    logits = drawn_logits(data, len(cell), max_span)
    best = best_spans(mask_spans(logits, cell), document, documents).tolist()
    spans = every_pair(cell, document, max_span)
    for number in range(documents):
        key = {(i, j): (logits[j - i, i].item(), i, j) for i, j, d in spans if d == number}
        assert tuple(best[number]) == (max(key, key=key.__getitem__) if key else (-1, -1))


def test_probabilities_sum_to_one_over_each_document() -> None:
    cell, document = torch.tensor([-1, 0, 0, 1, -1, 2, 2, 2]), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    logits = mask_spans(torch.randn(2, 8), cell)
    p = (logits - log_sums(logits, document, 2)[document]).exp().sum(0)
    torch.testing.assert_close(torch.zeros(2).index_add(0, document, p), torch.ones(2))
