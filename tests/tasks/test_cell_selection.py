"""The cell softmax and its objectives against brute force over each document."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.config.task import OBJECTIVES
from mate_cli.tasks.cell_selection import cell_loss, rank_cells
from mate_cli.tasks.grouped import log_softmax_by_group


@st.composite
def packed_cells(draw):
    """Logits, document numbers and candidate flags of a few documents, some without cells or candidates."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    total = sum(sizes)
    numbers = st.floats(-30, 30, allow_nan=False)
    logits = torch.tensor(draw(st.lists(numbers, min_size=total, max_size=total)), dtype=torch.float64)
    flags = torch.tensor(draw(st.lists(st.booleans(), min_size=total, max_size=total)), dtype=torch.bool)
    document = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return logits, document, flags, len(sizes)


def brute_force(logits, flags, objective):
    """-sum q log p of one document, straight from the definition."""
    p = [math.exp(x - max(logits)) for x in logits]
    p = [x / sum(p) for x in p]
    chosen = [i for i, flag in enumerate(flags) if flag]
    if not chosen:
        return 0.0
    if objective == "uniform":
        q = {i: 1 / len(chosen) for i in chosen}
    elif objective == "hard_em":
        q = {max(chosen, key=lambda i: (p[i], -i)): 1.0}
    else:
        q = {i: p[i] / sum(p[j] for j in chosen) for i in chosen}
    return -sum(weight * math.log(p[i]) for i, weight in q.items())


@settings(max_examples=60)
@given(packed_cells(), st.sampled_from(OBJECTIVES))
def test_loss_equals_brute_force(cells, objective):
    logits, document, flags, documents = cells
    loss, scorable = cell_loss(logits, document, flags, documents, objective)
    for number in range(documents):
        own = document == number
        expected = brute_force(logits[own].tolist(), flags[own].tolist(), objective)
        assert loss[number].item() == pytest.approx(expected, abs=1e-8)
        assert scorable[number].item() == bool(flags[own].any())


@settings(max_examples=60)
@given(packed_cells())
def test_mml_gradient_is_that_of_the_marginal_likelihood(cells):
    logits, document, flags, documents = cells
    logits.requires_grad_()
    (loss_gradient,) = torch.autograd.grad(cell_loss(logits, document, flags, documents)[0].sum(), logits)
    log_p = log_softmax_by_group(logits, document, documents)
    marginals = [log_p[(document == n) & flags] for n in range(documents)]
    marginal = sum((-torch.logsumexp(m, 0) for m in marginals if len(m)), start=(log_p * 0).sum())
    (expected,) = torch.autograd.grad(marginal, logits)
    torch.testing.assert_close(loss_gradient, expected, rtol=0, atol=1e-10)


def test_ranking_is_by_probability_and_of_equals_the_earlier_cell():
    logits = torch.tensor([0.0, 2.0, 2.0, 5.0, 5.0])
    document = torch.tensor([0, 0, 0, 2, 2])
    rows, columns = torch.tensor([0, 0, 1, 0, 1]), torch.tensor([0, 1, 0, 0, 0])
    first, empty, last = rank_cells(["a", "b", "c"], logits, document, rows, columns)
    assert first.cells == ((0, 1), (1, 0), (0, 0))
    assert empty.cells == ()
    assert last.cells == ((0, 0), (1, 0))
    assert sum(first.probabilities) == pytest.approx(1)
    assert last.probabilities == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_cells_that_fill_up_a_batch_change_no_loss(objective):
    """They make a document of their own, behind the last, without a candidate."""
    torch.manual_seed(0)
    logits = torch.randn(7, dtype=torch.float64)
    document = torch.tensor([0, 0, 0, 1, 1, 2, 2])
    candidate = torch.tensor([1, 0, 1, 0, 1, 0, 0], dtype=torch.bool)
    expected, scorable = cell_loss(logits, document, candidate, 3, objective)
    more = [torch.cat([own, own.new_full((5,), value)]) for own, value in ((logits, 0), (document, 3), (candidate, 0))]
    loss, known = cell_loss(*more, 4, objective)
    torch.testing.assert_close(loss, torch.cat([expected, expected.new_zeros(1)]))
    assert known.tolist() == [*scorable.tolist(), False] == [True, True, False, False]
