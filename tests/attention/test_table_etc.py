"""TableETC against a dense reference that has all of its global tokens, forward and backward, in 64 bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.attention.table_etc import LABELS, TableEtcPlanner, attend_table_etc
from tests.attention.layouts import document, layout, layouts
from tests.compilers import NATIVE, needs_compiler

HEADS, HEAD_DIM = 2, 4


def own_slots(row, column, segment, half):
    """The global tokens of a token: one for its row, one for its column; none for a question."""
    return () if segment == 0 else (row % half, half + (column - 1) % half)


def label(node, other, radius):
    """The relative position of two nodes of a document, each (place, own slots) or a global's slot; None: closed."""
    if isinstance(node, tuple) and isinstance(other, tuple):
        offset = other[0] - node[0]
        return max(-12, min(12, offset)) + 12 if abs(offset) <= radius else None
    for token, slot in ((node, other), (other, node)):
        if isinstance(token, tuple) and slot in token[1]:
            return 25
    return 26


def nodes_of(batch, number, global_size):
    """Row of ``qkv`` by node: tokens, then those of the global tokens that have a token."""
    tokens = np.flatnonzero(batch.document == number).tolist()
    places = [[int(x[t]) for x in (batch.row, batch.column, batch.segment)] for t in tokens]
    own = [own_slots(*place, global_size // 2) for place in places]
    used = {slot for slots in own for slot in slots}
    return tokens, [(place, slots) for place, slots in enumerate(own)], sorted(used)


def dense_reference(qkv, relative, batch, radius, global_size):
    query, key, value = qkv.view(len(qkv), 3, HEADS, HEAD_DIM).unbind(1)
    relative = relative.view(LABELS, HEADS, HEAD_DIM)
    output = torch.zeros(len(qkv), HEADS, HEAD_DIM, dtype=qkv.dtype)
    first = len(batch.document)
    for number in range(int(batch.document.max()) + 1):
        tokens, nodes, slots = nodes_of(batch, number, global_size)
        nodes = nodes + slots
        rows = tokens + list(range(first, first + len(slots)))
        first += len(slots)
        labels = [[label(node, other, radius) for other in nodes] for node in nodes]
        closed = torch.tensor([[x is None for x in line] for line in labels])
        number_of = torch.tensor([[x or 0 for x in line] for line in labels])
        keys = key[rows][None] + relative[number_of]
        scores = torch.einsum("ihe,ijhe->hij", query[rows], keys) / HEAD_DIM**0.5
        context = torch.einsum("hij,jhe->ihe", scores.masked_fill(closed, -torch.inf).softmax(-1), value[rows])
        output = output.index_copy(0, torch.tensor(rows), context)
    return output.flatten(1)


def outputs_and_gradients(size, attend):
    generator = torch.Generator().manual_seed(3)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    inputs = draw(size, 3 * HEADS * HEAD_DIM).requires_grad_(), draw(LABELS, HEADS * HEAD_DIM).requires_grad_()
    output = attend(*inputs)
    return output, *torch.autograd.grad((output * draw(*output.shape)).sum(), inputs)


def assert_equal(batch, radius, global_size=256):
    for native in (False, *([True] if NATIVE else [])):
        assert_plan_equal(batch, TableEtcPlanner(radius, global_size, native))


def assert_plan_equal(batch, planner):
    radius, global_size = planner.radius, planner.global_size
    plan = pickle.loads(pickle.dumps(planner(batch))).to("cpu")
    documents = range(int(batch.document.max()) + 1)
    assert plan.slots.tolist() == [slot for number in documents for slot in nodes_of(batch, number, global_size)[2]]
    size = len(batch.document) + len(plan.slots)
    ours = outputs_and_gradients(size, lambda qkv, relative: attend_table_etc(qkv, relative, plan, HEADS))
    expected = outputs_and_gradients(size, lambda *inputs: dense_reference(*inputs, batch, radius, global_size))
    for own, reference in zip(ours, expected, strict=True):
        torch.testing.assert_close(own, reference, rtol=0, atol=1e-10)
    assert not ours[0][: len(batch.document)][torch.from_numpy(batch.document < 0)].any()


@settings(max_examples=30)
@given(layouts(), st.integers(1, 40), st.sampled_from([2, 6, 256]))
def test_windows_and_globals_are_the_dense_result(batch, radius, global_size):
    assert_equal(batch, radius, global_size)


@pytest.mark.parametrize(
    "shapes",
    [
        [(4, True, 300, 1)],  # rows 0, 128 and 256 share a global token
        [(3, True, 1, 140)],
        [(6, False, 0, 0)],  # no table, no global token
        [(6, False, 0, 0), (2, True, 3, 4)],
        [(90, True, 8, 6), (3, False, 5, 5)],  # a question longer than the window
    ],
)
def test_edge_cases(shapes):
    rng = np.random.default_rng(2)
    assert_equal(layout([document(*shape, rng, tokens=2) for shape in shapes], [2] * len(shapes)), 84)


def test_the_plan_is_linear_in_the_tokens():
    """Every query has at most 256 + 3 radius keys, however long the document is; so has every global token's row."""
    rng = np.random.default_rng(2)
    pairs = []
    for rows in (200, 400, 800):
        batch = layout([document(20, True, rows, 10, rng)], [0])
        plan = TableEtcPlanner(84)(batch)
        (of_globals,) = plan.global_labels
        pairs.append((plan.labels.numel() + of_globals.numel()) / len(batch.document))
    assert max(pairs) < 2 * (256 + 3 * 84)
    assert pairs[2] < 1.1 * pairs[0]


@needs_compiler
def test_the_kernel_counts_the_pairs_that_see_each_other():
    rng, radius = np.random.default_rng(2), 7
    batch = layout([document(5, True, 9, 4, rng), document(3, False, 0, 0, rng)], [2, 1])
    expected = 0
    for number in (0, 1):
        _, nodes, slots = nodes_of(batch, number, 256)
        nodes = nodes + slots
        expected += sum(label(node, other, radius) is not None for node in nodes for other in nodes)
    (group,) = TableEtcPlanner(radius, native=True)(batch).groups
    assert group.pairs == expected


@needs_compiler
def test_gradients_of_the_kernel_with_dropout():
    batch = layout([document(4, True, 6, 3, np.random.default_rng(2), tokens=2)], [1])
    plan = TableEtcPlanner(5, native=True)(batch)

    def attend(qkv, relative):
        torch.manual_seed(0)  # the same pairs are dropped
        return attend_table_etc(qkv, relative, plan, 1, dropout=0.3)

    draw = torch.Generator().manual_seed(1)
    shapes = (len(batch.document) + len(plan.slots), 3 * HEAD_DIM), (LABELS, HEAD_DIM)
    inputs = [torch.randn(*shape, generator=draw, dtype=torch.float64).requires_grad_() for shape in shapes]
    assert torch.autograd.gradcheck(attend, inputs, fast_mode=True)


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_the_kernel_in_less_precision(dtype):
    """Compare with 64 bits, on the rounded input."""
    batch = layout([document(20, True, 30, 4, np.random.default_rng(2))], [3])
    exact, native = (TableEtcPlanner(40, native=native)(batch) for native in (False, True))
    size = len(batch.document) + len(native.slots)
    rounded = lambda qkv, relative: (qkv.to(dtype), relative.to(dtype))  # noqa: E731
    ours = outputs_and_gradients(size, lambda *x: attend_table_etc(*rounded(*x), native, HEADS).double())
    expected = outputs_and_gradients(
        size, lambda *x: attend_table_etc(*(part.double() for part in rounded(*x)), exact, HEADS)
    )
    for own, reference in zip(ours, expected, strict=True):
        scale = 1 + reference.abs().max()
        torch.testing.assert_close(own / scale, reference / scale, rtol=0, atol=4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("native", [False, pytest.param(True, marks=needs_compiler)])
def test_dropout_falls_on_the_probabilities(native):
    batch = layout([document(10, True, 5, 5, np.random.default_rng(2))], [0])
    plan = TableEtcPlanner(3, native=native)(batch)
    qkv = torch.zeros(len(batch.document) + len(plan.slots), 3 * HEADS * HEAD_DIM)
    qkv[:, -HEADS * HEAD_DIM :] = 1  # equal probabilities of equal values: their sum is 1 unless some are dropped
    relative = torch.zeros(LABELS, HEADS * HEAD_DIM)
    torch.testing.assert_close(attend_table_etc(qkv, relative, plan, HEADS), torch.ones(len(qkv), HEADS * HEAD_DIM))
    torch.manual_seed(0)
    dropped = attend_table_etc(qkv, relative, plan, HEADS, dropout=0.5)
    assert dropped.std() > 0.05
    assert dropped.mean() == pytest.approx(1, abs=0.1)
