"""Every exact backend against `eager`, and `eager` against the definition, forward and backward, in 64 bits."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mate_cli.attention import (
    BACKENDS,
    HeadGroup,
    Layout,
    Pattern,
    attend,
    build_plan,
    full_pattern,
    mate_pattern,
)
from mate_cli.attention.eager import eager_probabilities

HEAD_DIM = 4
EXACT = sorted(set(BACKENDS) - {"eager"})
PATTERNS = {
    "1:1": mate_pattern(4),
    "1:3": mate_pattern(4, 0.25),
    "rows": mate_pattern(2, 1.0),
    "columns": mate_pattern(2, 0.0),
    "full": full_pattern(2),
}


def document(question, header, rows, columns, rng, tokens=3):
    """(row, column, segment) of a table whose cells hold 0 to ``tokens`` tokens each."""
    row, column, segment = [0] * question, [0] * question, [0] * question
    for r in range(0 if header else 1, rows + 1):
        for c in range(1, columns + 1):
            count = int(rng.integers(0, tokens + 1))
            row += [r] * count
            column += [c] * count
            segment += [1] * count
    return row, column, segment


def layout(documents, paddings):
    """Documents one after another, each followed by some padding."""
    parts = {"document": [], "row": [], "column": [], "segment": []}
    for number, ((row, column, segment), padding) in enumerate(zip(documents, paddings, strict=True)):
        parts["document"] += [number] * len(row) + [-1] * padding
        parts["row"] += row + [0] * padding
        parts["column"] += column + [0] * padding
        parts["segment"] += segment + [0] * padding
    return Layout(**{name: np.array(values, dtype=np.int64) for name, values in parts.items()})


@st.composite
def layouts(draw):
    """Packed batches: one row, one column, empty cells, headers alone, questions alone, padding between."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    count = draw(st.integers(1, 4))
    shapes = st.tuples(st.integers(1, 9), st.booleans(), st.integers(0, 6), st.integers(0, 5))
    documents = [document(*draw(shapes), rng) for _ in range(count)]
    return layout(documents, draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)))


def run(batch, pattern, backend, seed=0):
    """Output and gradient of a random weighting of it, both float64."""
    generator = torch.Generator().manual_seed(seed)
    hidden = pattern.heads * HEAD_DIM
    size = len(batch.document)
    qkv = torch.randn(size, 3 * hidden, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(size, hidden, generator=generator, dtype=torch.float64)
    output = attend(qkv, build_plan(batch, pattern.kinds, backend), pattern)
    (gradient,) = torch.autograd.grad((output * weight).sum(), qkv)
    with torch.no_grad():
        torch.testing.assert_close(attend(qkv, build_plan(batch, pattern.kinds, backend), pattern), output)
    return output.detach(), gradient


def assert_equal(batch, pattern, backend):
    expected, got = run(batch, pattern, "eager"), run(batch, pattern, backend)
    for ours, reference in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, reference, rtol=0, atol=1e-10)
        padding = torch.from_numpy(batch.document < 0)
        assert not ours[padding].any()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(layouts(), st.sampled_from(sorted(PATTERNS)), st.sampled_from(EXACT))
def test_backends_agree(batch, name, backend):
    assert_equal(batch, PATTERNS[name], backend)


EDGE_CASES = {
    "question over 116 tokens": [(130, True, 4, 3)],
    "question longer than the table": [(40, True, 1, 2), (3, True, 5, 5)],
    "more than 256 rows": [(5, True, 300, 2), (9, False, 3, 3)],
    "one row": [(4, False, 1, 30)],
    "one column": [(4, True, 30, 1)],
    "header only": [(4, True, 0, 5), (6, True, 3, 3)],
    "question only": [(4, False, 0, 0), (6, True, 3, 3)],
}


@pytest.mark.parametrize("backend", EXACT)
@pytest.mark.parametrize("case", sorted(EDGE_CASES))
def test_edge_cases(case, backend):
    rng = np.random.default_rng(1)
    documents = [document(*shape, rng) for shape in EDGE_CASES[case]]
    assert_equal(layout(documents, [2] * len(documents)), PATTERNS["1:1"], backend)


def test_dense_does_row_or_column_and_ragged_refuses_it():
    batch = layout([document(3, True, 4, 4, np.random.default_rng(0))], [1])
    pattern = Pattern((HeadGroup("row_or_column", 2),))
    assert_equal(batch, pattern, "dense")
    with pytest.raises(Exception, match="row_or_column"):
        build_plan(batch, pattern.kinds, "ragged")


def brute_force_allowed(kind, batch, i, j):
    """The paper's definition (section 3), word for word, of one pair of tokens."""
    if batch.segment[i] == 0 or batch.segment[j] == 0 or kind == "full":
        return True
    ids = batch.row if kind == "row" else batch.column
    return ids[i] == ids[j]


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_eager_attends_to_the_allowed_pairs_alone(name):
    pattern = PATTERNS[name]
    batch = layout([document(4, True, 3, 3, np.random.default_rng(3))], [0])
    size = len(batch.document)
    qkv = torch.randn(size, 3 * pattern.heads * HEAD_DIM)
    (probabilities,) = eager_probabilities(qkv, build_plan(batch, pattern.kinds, "eager"), pattern)
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(pattern.heads, size))
    kinds = [group.kind for group in pattern.groups for _ in range(group.heads)]
    for head, kind in enumerate(kinds):
        expected = [[brute_force_allowed(kind, batch, i, j) for j in range(size)] for i in range(size)]
        assert torch.equal(probabilities[head] > 0, torch.tensor(expected))


SMALL = ((9, True, 12, 5), (5, True, 7, 4))
LONG = ((9, True, 300, 2),)  # its columns, and it itself, are blocks that the kernel treats in another way


@pytest.mark.parametrize("shapes", [SMALL, LONG], ids=["small", "long"])
@pytest.mark.parametrize("name", ["1:1", "full"])
@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_low_precision_is_close(backend, name, shapes):
    rng = np.random.default_rng(5)
    batch = layout([document(*shape, rng, tokens=7) for shape in shapes], range(len(shapes)))
    pattern = PATTERNS[name]
    torch.manual_seed(0)
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM)
    weight = torch.randn(len(batch.document), pattern.heads * HEAD_DIM)
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        inputs = qkv.to(dtype).requires_grad_()
        output = attend(inputs, build_plan(batch, pattern.kinds, backend), pattern)
        (gradient,) = torch.autograd.grad(output, inputs, weight.to(dtype))
        assert output.dtype == gradient.dtype == dtype
        results.append((output.detach().float(), gradient.float()))
    for exact, low in zip(*results, strict=True):
        assert (exact - low).norm() < 0.015 * exact.norm()


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("backend", EXACT)
def test_memory_layout_of_inputs_and_gradients_does_not_matter(backend, name):
    batch = layout([document(3, True, 5, 4, np.random.default_rng(6))], [1])
    pattern = PATTERNS[name]
    columns = torch.randn(3 * pattern.heads * HEAD_DIM, len(batch.document), dtype=torch.float64)
    gradients = []
    for which in ("eager", backend):
        qkv = columns.clone().T.requires_grad_()
        attend(qkv, build_plan(batch, pattern.kinds, which), pattern).sum().backward()
        gradients.append(qkv.grad)
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_plans_travel_between_processes(backend):
    batch = layout([document(4, True, 5, 4, np.random.default_rng(7))], [2])
    pattern = PATTERNS["1:1"]
    plan = build_plan(batch, pattern.kinds, backend)
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM)
    sent = pickle.loads(pickle.dumps(plan)).to("cpu")
    assert torch.equal(attend(qkv, sent, pattern), attend(qkv, plan, pattern))


def test_dropout_is_eager_alone():
    batch = layout([document(4, True, 5, 4, np.random.default_rng(7))], [0])
    pattern = PATTERNS["1:1"]
    qkv = torch.ones(len(batch.document), 3 * pattern.heads * HEAD_DIM)
    dropped = attend(qkv, build_plan(batch, pattern.kinds, "eager"), pattern, dropout=0.5)
    assert not torch.allclose(dropped, torch.ones_like(dropped))
    for backend in EXACT:
        with pytest.raises(ValueError, match="dropout"):
            attend(qkv, build_plan(batch, pattern.kinds, backend), pattern, dropout=0.5)


def test_broken_layouts_are_refused():
    row = np.zeros(4, np.int64)
    with pytest.raises(ValueError, match="broken by padding"):
        Layout(np.array([0, -1, 0, 1]), row, row, row).spans()
    with pytest.raises(ValueError, match="order"):
        Layout(np.array([1, 1, 0, 0]), row, row, row).spans()


@pytest.mark.parametrize(
    ("kinds", "rows", "backend"),
    [
        (("row", "column"), 2, "dense"),
        (("row", "column"), 200, "ragged"),
        (("full",), 2, "ragged"),
        (("full", "row_or_column"), 200, "dense"),
    ],
)
def test_auto_takes_ragged_for_large_tables(kinds, rows, backend):
    batch = layout([document(20, True, rows, 6, np.random.default_rng(0))], [0])
    assert build_plan(batch, kinds).backend == backend
    assert build_plan(batch, kinds, device="cuda").backend == "dense"
