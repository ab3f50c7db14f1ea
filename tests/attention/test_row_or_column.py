"""SAT's one mask for all heads (paper section 2) against its definition, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from mate_cli.attention import HeadGroup, Pattern, attend, build_plan
from tests.attention.layouts import document, layout, layouts

HEADS, HEAD_DIM = 2, 4
SAT = Pattern((HeadGroup("row_or_column", HEADS),))


def sees(batch, i, j):
    """Tokens of one document attend to each other where either is question or they share a row or a column."""
    if batch.document[i] < 0 or batch.document[i] != batch.document[j]:
        return False
    question = batch.segment[i] == 0 or batch.segment[j] == 0
    return bool(question or batch.row[i] == batch.row[j] or batch.column[i] == batch.column[j])


@pytest.mark.parametrize("backend", ["eager", "dense", "native", "flex", "auto"])
@settings(max_examples=15)
@given(batch=layouts())
def test_one_mask_for_all_heads(backend, batch):
    size = len(batch.document)
    generator = torch.Generator().manual_seed(1)
    qkv = torch.randn(size, 3 * HEADS * HEAD_DIM, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(size, HEADS * HEAD_DIM, generator=generator, dtype=torch.float64)
    query, key, value = qkv.view(size, 3, HEADS, HEAD_DIM).permute(1, 2, 0, 3)
    mask = torch.tensor([[i == j or sees(batch, i, j) for j in range(size)] for i in range(size)])
    scores = (query @ key.transpose(1, 2) / HEAD_DIM**0.5).masked_fill(~mask, -torch.inf)
    expected = (scores.softmax(-1) @ value).transpose(0, 1).flatten(1)
    with torch.set_grad_enabled(backend != "flex"):  # which has no backward pass on the CPU
        output = attend(qkv, build_plan(batch, SAT.kinds, backend), SAT)
    real = torch.from_numpy(batch.document >= 0)
    torch.testing.assert_close(output[real], expected[real], rtol=0, atol=1e-10)
    assert not output[~real].any()
    if backend == "flex":
        return
    (gradient,) = torch.autograd.grad((output * weight).sum(), qkv, retain_graph=True)
    (of_reference,) = torch.autograd.grad((expected * weight)[real].sum(), qkv)
    torch.testing.assert_close(gradient, of_reference, rtol=0, atol=1e-10)


@pytest.mark.parametrize("backend", ["dense", "native"])
def test_tokens_that_see_themselves_alone(backend):
    """On the diagonal of a table without a question; the first keys that are looked at are closed to most queries."""
    tokens = np.arange(1, 151)
    batch = layout([(tokens.tolist(), tokens.tolist(), [1] * len(tokens))], [0])
    qkv = torch.randn(150, 3 * HEADS * HEAD_DIM, generator=torch.Generator().manual_seed(1)).requires_grad_()
    value = qkv[:, 2 * HEADS * HEAD_DIM :]
    output = attend(qkv, build_plan(batch, SAT.kinds, backend), SAT)
    torch.testing.assert_close(output, value, rtol=0, atol=1e-6)
    (gradient,) = torch.autograd.grad(output.sum(), qkv)
    (of_value,) = torch.autograd.grad(value.sum(), qkv)
    torch.testing.assert_close(gradient, of_value, rtol=0, atol=1e-6)


def test_auto_without_the_kernel():
    batch = layout([document(3, True, 40, 4, np.random.default_rng(0))], [0])
    assert build_plan(batch, SAT.kinds).backend == "dense"
