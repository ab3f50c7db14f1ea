"""The paper's buckets against brute force, and against the plain pattern where the two must agree."""

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.attention import Buckets, PatternPlanner, attend, bucketed, build_plan, mate_pattern
from mate_cli.attention.dropout import draw_dropout
from mate_cli.attention.eager import EagerPlan, attend_documents, probabilities
from mate_cli.attention.plan import document_plan
from tests.attention.layouts import HEAD_DIM, PATTERNS, document, layout, layouts

LINES = sorted(set(PATTERNS) - {"full"})


def bucket_of(batch, kind, buckets):
    """Bucket of each token, -1 for a global one: sort a document by line, cut off G, then R at a time."""
    ids = batch.row if kind == "row" else batch.column
    numbers = np.zeros(len(ids), int)
    for own in set(batch.document) - {-1}:
        tokens = [i for i in range(len(ids)) if batch.document[i] == own]
        for rank, token in enumerate(sorted(tokens, key=lambda i: ids[i])):
            numbers[token] = -1 if rank < buckets.global_size else (rank - buckets.global_size) // buckets.radius
    return numbers


def brute_force_masks(batch, kind, buckets):
    """Pattern and bucket rule (paper 3.1), pair by pair, for each document."""
    ids = batch.row if kind == "row" else batch.column
    number = bucket_of(batch, kind, buckets)

    def sees(i, j):
        pattern = ids[i] == ids[j] or batch.segment[i] == 0 or batch.segment[j] == 0
        return bool(pattern and (number[i] == -1 or number[j] == -1 or abs(number[i] - number[j]) <= 1))

    spans = [range(start, end) for start, end in batch.spans().tolist()]
    return [torch.tensor([[sees(i, j) for j in span] for i in span]) for span in spans]


def results(qkv, weight, attention):
    inputs = qkv.clone().requires_grad_()
    output = attention(inputs)
    (gradient,) = torch.autograd.grad((output * weight).sum(), inputs)
    return output.detach(), gradient


def bucketed_results(batch, pattern, buckets, rate=0.0):
    """What `bucketed` and the reference under its masks give, output and gradient; with dropout if there is a rate."""
    torch.manual_seed(0)
    drawn = draw_dropout(rate, 1, pattern.heads, batch.place())[0] if rate else None
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM, dtype=torch.float64)
    weight = torch.randn(len(batch.document), pattern.heads * HEAD_DIM, dtype=torch.float64)
    plan = PatternPlanner(pattern.kinds, "bucketed", buckets=buckets)(batch)
    masks = {kind: brute_force_masks(batch, kind, buckets) for kind in pattern.kinds}
    documents = document_plan(EagerPlan, batch)

    def attend_masked(query, key, value, mask, dropout):
        weights = probabilities(query, key, mask)
        return (weights if dropout is None else weights * dropout.kept(weights.dtype)) @ value

    def reference(inputs):
        return attend_documents(inputs, documents, pattern, masks, attend_masked, drawn)

    return plan, results(qkv, weight, lambda x: attend(x, plan, pattern, drawn)), results(qkv, weight, reference)


sizes = st.builds(Buckets, st.integers(1, 12), st.integers(1, 9))


@settings(max_examples=60)
@given(layouts(), st.sampled_from(LINES), sizes, st.sampled_from([1, 3, 48]), st.sampled_from([0.0, 0.5]))
def test_buckets_are_the_intersected_mask(batch, name, buckets, at_once, rate):
    with mock.patch.object(bucketed, "_BUCKETS_AT_ONCE", at_once):
        _, got, expected = bucketed_results(batch, PATTERNS[name], buckets, rate)
    for ours, reference in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, reference, rtol=0, atol=1e-10)
    assert not got[0][torch.from_numpy(batch.document < 0)].any()


def longest_line(batch, kind):
    ids = batch.row if kind == "row" else batch.column
    table = (batch.document >= 0) & (batch.segment != 0)
    pairs = np.stack([batch.document[table], ids[table]])
    return int(np.unique(pairs, axis=1, return_counts=True)[1].max(initial=0))


@settings(max_examples=60)
@given(layouts(), st.sampled_from(LINES), st.integers(0, 5), st.integers(0, 5))
def test_buckets_are_exact_where_question_and_lines_fit(batch, name, more_global, more_radius):
    """Paper section 3.1: question <= G and every line <= R + 1 tokens."""
    pattern = PATTERNS[name]
    question = max(int((batch.segment[batch.document == d] == 0).sum()) for d in set(batch.document) - {-1})
    radius = max(max(longest_line(batch, kind) for kind in pattern.kinds) - 1, 1) + more_radius
    plan, got, _ = bucketed_results(batch, pattern, Buckets(question + more_global, radius))
    assert plan.exact
    torch.manual_seed(0)
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM, dtype=torch.float64)
    weight = torch.randn(len(batch.document), pattern.heads * HEAD_DIM, dtype=torch.float64)
    eager = results(qkv, weight, lambda x: attend(x, build_plan(batch, pattern.kinds, "eager"), pattern))
    for ours, reference in zip(got, eager, strict=True):
        torch.testing.assert_close(ours, reference, rtol=0, atol=1e-10)


def test_the_paper_misses_most_pairs_of_a_long_column():
    """On 6 columns of some 2000 tokens: G = 116 and R = 42 cannot hold a column of 340 tokens."""
    batch = layout([document(20, True, 40, 6, np.random.default_rng(0), tokens=16)], [0])
    plan = PatternPlanner(("row", "column"), "bucketed")(batch)
    assert not plan.exact
    assert plan.coverage["column"] < 0.6
    assert build_plan(batch, ("row", "column"), "ragged").exact


@pytest.mark.parametrize("backend", ["auto", "ragged", "dense"])
def test_nothing_but_buckets_is_an_approximation(backend):
    batch = layout([document(20, True, 40, 6, np.random.default_rng(0), tokens=16)], [0])
    assert build_plan(batch, mate_pattern(4).kinds, backend).exact
