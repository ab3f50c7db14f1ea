"""Every exact backend against `eager`, and `eager` against the definition, forward and backward, in 64 bits."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import flex_attention

from mate_cli.attention import (
    BACKENDS,
    HeadGroup,
    Layout,
    Pattern,
    attend,
    build_plan,
    flex,
    varlen,
)
from mate_cli.attention.dropout import draw_dropout
from mate_cli.attention.eager import eager_probabilities
from mate_cli.attention.lines import ragged_plan
from mate_cli.system.errors import UserError
from tests.attention.layouts import HEAD_DIM, PATTERNS, document, layout, layouts
from tests.attention.stand_ins import attend_by_block, backward_by_sequence, forward_by_sequence
from tests.compilers import NATIVE

MERGED = "ragged, question apart"
EXACT = sorted({*BACKENDS, MERGED} - {"eager", "bucketed", "native"} | {*NATIVE})
FLEX_KERNEL = flex.kernel


def plan_of(batch, kinds, backend):
    return ragged_plan(batch, kinds, apart=True) if backend == MERGED else build_plan(batch, kinds, backend)


@pytest.fixture(autouse=True, scope="module")
def kernels_without_a_gpu():
    """The CUDA kernels of `varlen` and `flex`, written out, where there is no GPU."""
    if torch.cuda.is_available():
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(varlen, "kernel_forward", forward_by_sequence)
        patch.setattr(varlen, "kernel_backward", backward_by_sequence)
        patch.setattr(flex, "kernel", attend_by_block)
        yield


def run(batch, pattern, backend, seed=0, rate=0.0):
    """Output and gradient of a random weighting of it, both float64; with dropout if there is a rate."""
    generator = torch.Generator().manual_seed(seed)
    hidden = pattern.heads * HEAD_DIM
    size = len(batch.document)
    qkv = torch.randn(size, 3 * hidden, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(size, hidden, generator=generator, dtype=torch.float64)
    dropout = drawn(pattern, size, rate, seed) if rate else None
    output = attend(qkv, plan_of(batch, pattern.kinds, backend), pattern, dropout)
    (gradient,) = torch.autograd.grad((output * weight).sum(), qkv)
    with torch.no_grad():
        torch.testing.assert_close(attend(qkv, plan_of(batch, pattern.kinds, backend), pattern, dropout), output)
    return output.detach(), gradient


def drawn(pattern, tokens, rate, seed=0):
    torch.manual_seed(seed)
    return draw_dropout(rate, 1, pattern.heads, torch.arange(tokens, dtype=torch.int32))[0]


def assert_equal(batch, pattern, backend, rate=0.0):
    expected, got = run(batch, pattern, "eager", rate=rate), run(batch, pattern, backend, rate=rate)
    for ours, reference in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, reference, rtol=0, atol=1e-10)
        padding = torch.from_numpy(batch.document < 0)
        assert not ours[padding].any()


def check_drawn(backend, check, *more):
    """Check drawn batches and patterns: many with the project's own kernel, few with the others."""
    drawing = given(layouts(), st.sampled_from(sorted(PATTERNS)), *more)
    settings(max_examples=60 if backend == "native" else 12)(drawing(check))()


@pytest.mark.parametrize("backend", EXACT)
def test_backends_agree(backend):
    def check(batch, name):
        assert_equal(batch, PATTERNS[name], backend)

    check_drawn(backend, check)


EDGE_CASES = {
    "question over 116 tokens": [(130, True, 4, 3)],
    "question longer than the table": [(40, True, 1, 2), (3, True, 5, 5)],
    "more than 256 rows": [(5, True, 300, 2), (9, False, 3, 3)],
    "one row": [(4, False, 1, 30)],
    "one column": [(4, True, 30, 1)],
    "header only": [(4, True, 0, 5), (6, True, 3, 3)],
    "question only": [(4, False, 0, 0), (6, True, 3, 3)],
}


def edge_case(case):
    rng = np.random.default_rng(1)
    documents = [document(*shape, rng) for shape in EDGE_CASES[case]]
    return layout(documents, [2] * len(documents))


@pytest.mark.parametrize("backend", EXACT)
@pytest.mark.parametrize("case", sorted(EDGE_CASES))
@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_edge_cases(name, case, backend):
    assert_equal(edge_case(case), PATTERNS[name], backend)


ROW_OR_COLUMN = Pattern((HeadGroup("row_or_column", 2),))


@pytest.mark.parametrize("backend", ["dense", "flex", "native"])
def test_one_mask_for_all_heads(backend):
    batch = layout(
        [document(3, True, 4, 4, np.random.default_rng(0)), document(5, True, 9, 2, np.random.default_rng(1))], [1, 0]
    )
    assert_equal(batch, ROW_OR_COLUMN, backend)


@pytest.mark.parametrize("backend", ["ragged", "blocks", "varlen", "bucketed"])
def test_backends_by_line_refuse_one_mask_for_all_heads(backend):
    batch = layout([document(3, True, 4, 4, np.random.default_rng(0))], [1])
    with pytest.raises(UserError, match="row_or_column"):
        build_plan(batch, ROW_OR_COLUMN.kinds, backend)


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), ROW_OR_COLUMN], ids=[*PATTERNS, "row or column"])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_flex_attention_itself(pattern, rate, monkeypatch):
    """The library's own function, which has no backward pass without a GPU."""
    monkeypatch.setattr(flex, "kernel", FLEX_KERNEL)
    rng = np.random.default_rng(2)
    batch = layout([document(9, True, 30, 5, rng), document(150, True, 3, 3, rng)], [3, 1])
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * 16)
    dropout = drawn(pattern, len(qkv), rate) if rate else None
    monkeypatch.setattr(flex_attention, "_WARNINGS_SHOWN", set())  # each is shown once a process
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        expected, got = (
            attend(qkv, build_plan(batch, pattern.kinds, name), pattern, dropout) for name in ("eager", "flex")
        )
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-5)


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


LOW_PRECISION = [
    *((name, 0.0) for name in ["eager", *EXACT]),
    *((name, 0.3) for name in EXACT if name not in ("varlen", "flex")),
    pytest.param("flex", 0.3, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("shapes", [SMALL, LONG], ids=["small", "long"])
@pytest.mark.parametrize("name", ["1:1", "full"])
@pytest.mark.parametrize(("backend", "rate"), LOW_PRECISION)
def test_low_precision_is_close(backend, rate, name, shapes):
    rng = np.random.default_rng(5)
    batch = layout([document(*shape, rng, tokens=7) for shape in shapes], range(len(shapes)))
    pattern = PATTERNS[name]
    torch.manual_seed(0)
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM)
    weight = torch.randn(len(batch.document), pattern.heads * HEAD_DIM)
    dropout = drawn(pattern, len(qkv), rate) if rate else None
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        inputs = qkv.to(dtype).requires_grad_()
        output = attend(inputs, plan_of(batch, pattern.kinds, backend), pattern, dropout)
        (gradient,) = torch.autograd.grad(output, inputs, weight.to(dtype))
        assert output.dtype == gradient.dtype == dtype
        results.append((output.detach().float(), gradient.float()))
    for exact, low in zip(*results, strict=True):
        assert (exact - low).norm() < 0.015 * exact.norm()


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("name", ["1:1", "full"])
def test_eager_is_exact_to_bf16_where_attention_is_sharp(name, rate, autocast):
    """Against float32, within what other backends are off by; with a softmax in bf16 the gradient is off by 10%."""
    batch, pattern = layout([document(*LONG[0], np.random.default_rng(5), tokens=2)], [0]), PATTERNS[name]
    torch.manual_seed(0)
    qkv = (6 * torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM)).bfloat16()
    weight = torch.randn(len(batch.document), pattern.heads * HEAD_DIM).bfloat16()
    dropout = drawn(pattern, len(qkv), rate) if rate else None
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        inputs = qkv.to(dtype).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast and dtype == torch.bfloat16):  # as in training
            output = attend(inputs, build_plan(batch, pattern.kinds, "eager"), pattern, dropout)
        (gradient,) = torch.autograd.grad(output, inputs, weight.to(dtype))
        assert output.dtype == gradient.dtype == dtype
        results.append((output.detach().float(), gradient.float()))
    for exact, low, most in zip(*results, (0.004, 0.016), strict=True):
        assert (exact - low).norm() < most * exact.norm()


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("backend", EXACT)
def test_memory_layout_of_inputs_and_gradients_does_not_matter(backend, name):
    batch = layout([document(3, True, 5, 4, np.random.default_rng(6))], [1])
    pattern = PATTERNS[name]
    columns = torch.randn(3 * pattern.heads * HEAD_DIM, len(batch.document), dtype=torch.float64)
    gradients = []
    for which in ("eager", backend):
        qkv = columns.clone().T.requires_grad_()
        attend(qkv, plan_of(batch, pattern.kinds, which), pattern).sum().backward()
        gradients.append(qkv.grad)
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_plans_travel_between_processes(backend):
    batch = layout([document(4, True, 5, 4, np.random.default_rng(7))], [2])
    pattern = PATTERNS["1:1"]
    plan = plan_of(batch, pattern.kinds, backend)
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM)
    sent = pickle.loads(pickle.dumps(plan)).to("cpu")
    assert torch.equal(attend(qkv, sent, pattern), attend(qkv, plan, pattern))


@pytest.mark.parametrize("backend", [*NATIVE, "ragged", MERGED, "varlen"])
def test_second_derivatives_are_refused(backend):
    """These have their own backward pass, whose derivative would lack the part through the saved softmax."""
    batch = layout([document(3, True, 5, 4, np.random.default_rng(6))], [1])
    pattern = PATTERNS["1:1"]
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM, dtype=torch.float64).requires_grad_()
    output = attend(qkv, plan_of(batch, pattern.kinds, backend), pattern)
    (gradient,) = torch.autograd.grad(output.square().sum(), qkv, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        (output.sum() + gradient.square().sum()).backward()


DROPPING = [name for name in EXACT if name == MERGED or BACKENDS[name].has_dropout]


@pytest.mark.parametrize("backend", DROPPING)
def test_backends_drop_the_same_pairs(backend):
    def check(batch, name, rate):
        assert_equal(batch, PATTERNS[name], backend, rate)

    check_drawn(backend, check, st.sampled_from([0.1, 0.5, 0.9]))


@pytest.mark.parametrize("backend", DROPPING)
@pytest.mark.parametrize("case", sorted(EDGE_CASES))
@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_edge_cases_with_dropout(name, case, backend):
    assert_equal(edge_case(case), PATTERNS[name], backend, 0.3)


def test_no_backend_ignores_dropout():
    batch = layout([document(4, True, 5, 4, np.random.default_rng(7))], [0])
    pattern = PATTERNS["1:1"]
    qkv = torch.ones(len(batch.document), 3 * pattern.heads * HEAD_DIM)
    dropout = drawn(pattern, len(batch.document), 0.5)
    for backend in ("eager", "bucketed", *DROPPING):
        dropped = attend(qkv, plan_of(batch, pattern.kinds, backend), pattern, dropout)
        assert not torch.allclose(dropped, torch.ones_like(dropped))
        assert dropped.mean() == pytest.approx(1.0, abs=0.2)
    for backend in {*EXACT} - {*DROPPING}:
        with pytest.raises(ValueError, match="dropout"):
            attend(qkv, plan_of(batch, pattern.kinds, backend), pattern, dropout)


def test_broken_layouts_are_refused():
    row = np.zeros(4, np.int64)
    with pytest.raises(ValueError, match="broken by padding"):
        Layout(np.array([0, -1, 0, 1]), row, row, row).spans()
    with pytest.raises(ValueError, match="order"):
        Layout(np.array([1, 1, 0, 0]), row, row, row).spans()
