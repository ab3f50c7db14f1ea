"""Linformer against the formula over padded batches (docs/notes.md, note 15), forward and backward, in 64 bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from mate_cli.attention.linformer import LinformerPlanner, attend_linformer
from mate_cli.system.errors import UserError
from tests.attention.layouts import document, layout, layouts

HEADS, HEAD_DIM, LONGEST, K = 2, 4, 160, 5


def padded_formula(qkv, projection, batch):
    """Documents padded to S: keys and values times the mask, then times the projection; no mask after that."""
    output = torch.zeros(len(qkv), HEADS * HEAD_DIM, dtype=qkv.dtype)
    for number in range(int(batch.document.max()) + 1):
        tokens = np.flatnonzero(batch.document == number)
        mask = torch.zeros(LONGEST, dtype=qkv.dtype)
        mask[: len(tokens)] = 1
        padded = torch.randn(LONGEST, qkv.shape[1], dtype=qkv.dtype).index_copy(
            0, torch.arange(len(tokens)), qkv[tokens]
        )
        query, key, value = padded.view(LONGEST, 3, HEADS, HEAD_DIM).unbind(1)
        key, value = (torch.einsum("she,s,sk->khe", x, mask, projection) for x in (key, value))
        scores = torch.einsum("she,khe->hsk", query, key) / HEAD_DIM**0.5
        context = torch.einsum("hsk,khe->she", scores.softmax(-1), value).flatten(1)
        output = output.index_copy(0, torch.from_numpy(tokens), context[: len(tokens)])
    return output


def outputs_and_gradients(batch, attend):
    generator = torch.Generator().manual_seed(3)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    inputs = draw(len(batch.document), 3 * HEADS * HEAD_DIM).requires_grad_(), draw(LONGEST, K).requires_grad_()
    output = attend(*inputs)
    return output, *torch.autograd.grad((output * draw(*output.shape)).sum(), inputs)


@settings(max_examples=30)
@given(layouts())
def test_packed_documents_are_padded_ones(batch):
    plan = pickle.loads(pickle.dumps(LinformerPlanner(LONGEST)))(batch)
    ours = outputs_and_gradients(batch, lambda qkv, projection: attend_linformer(qkv, projection, plan, HEADS))
    expected = outputs_and_gradients(batch, lambda qkv, projection: padded_formula(qkv, projection, batch))
    for own, reference in zip(ours, expected, strict=True):
        torch.testing.assert_close(own, reference, rtol=0, atol=1e-10)
    assert not ours[0][torch.from_numpy(batch.document < 0)].any()


def test_more_tokens_than_rows_are_one_line():
    batch = layout([document(5, True, 2, 2, np.random.default_rng(0))], [3])
    tokens = int((batch.document >= 0).sum())
    LinformerPlanner(tokens)(batch)
    with pytest.raises(UserError, match=f"{tokens} tokens, and this Linformer reads at most {tokens - 1}"):
        LinformerPlanner(tokens - 1)(batch)


def test_dropout_falls_on_the_probabilities():
    """With equal values everywhere, the output is the sum of the probabilities that are left, scaled up."""
    batch = layout([document(40, True, 3, 3, np.random.default_rng(0))], [0])
    plan = LinformerPlanner(LONGEST)(batch)
    qkv = torch.zeros(len(batch.document), 3 * HEADS * HEAD_DIM)
    qkv[:, -HEADS * HEAD_DIM :] = 1
    projection = torch.full((LONGEST, 4), 1 / len(batch.document))
    torch.manual_seed(0)
    kept = attend_linformer(qkv, projection, plan, HEADS, dropout=0.5) * 2
    torch.testing.assert_close(kept, kept.round())
    assert kept.min() < 0.5
    assert kept.max() > 3.5
    assert kept.mean() == pytest.approx(2, abs=0.4)
