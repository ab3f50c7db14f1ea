"""The compiled kernel: widths, precisions, threads, forked workers, and the plan's chunks."""

import multiprocessing

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from mate_cli.attention import (
    HeadGroup,
    Layout,
    Pattern,
    PatternPlanner,
    attend,
    build_plan,
    full_pattern,
    mate_pattern,
)
from mate_cli.attention.dropout import draw_dropout
from mate_cli.attention.native import plan as planning
from mate_cli.attention.native.plan import native_plan
from tests.attention.layouts import PATTERNS, document, layout
from tests.compilers import needs_compiler
from tests.training.conftest import fast

pytestmark = needs_compiler

SHAPES = [(20, True, 30, 4), (60, True, 9, 3), (5, True, 0, 0), (3, False, 2, 90)]


@pytest.fixture
def batch():
    """Several documents with padding; lines and a question that are longer than a tile."""
    rng = np.random.default_rng(0)
    return layout([document(*shape, rng, tokens=4) for shape in SHAPES], [2, 0, 1, 3])


def inputs(batch, heads, head_dim, dtype=torch.float64):
    """Input and a weighting of the output."""
    generator = torch.Generator().manual_seed(0)
    size = len(batch.document)
    qkv = torch.randn(size, 3 * heads * head_dim, generator=generator, dtype=torch.float64)
    weight = torch.randn(size, heads * head_dim, generator=generator, dtype=torch.float64)
    return qkv.to(dtype).requires_grad_(), weight.to(dtype)


def run(batch, pattern, backend, head_dim, dtype=torch.float64, rate=0.0):
    """Output and gradient; with dropout if there is a rate."""
    qkv, weight = inputs(batch, pattern.heads, head_dim, dtype)
    output = attend(qkv, build_plan(batch, pattern.kinds, backend), pattern, drawn(batch, pattern, rate))
    return output.detach(), *torch.autograd.grad(output, qkv, weight)


def drawn(batch, pattern, rate):
    torch.manual_seed(1)
    return draw_dropout(rate, 1, pattern.heads, batch.place())[0] if rate else None


@pytest.mark.parametrize("rate", [0.0, 0.1])
@pytest.mark.parametrize("head_dim", fast(5, 40, 64, of=(5, 16, 32, 40, 64, 128)))
def test_heads_of_any_width(batch, head_dim, rate):
    pattern = Pattern(tuple(HeadGroup(kind, 1) for kind in ("row", "full", "column", "row_or_column")))
    results = (run(batch, pattern, backend, head_dim, rate=rate) for backend in ("native", "eager"))
    for ours, reference in zip(*results, strict=True):
        torch.testing.assert_close(ours, reference, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("dtype", "of_output", "of_gradient"),
    [(torch.float32, 5e-6, 2e-5), (torch.bfloat16, 2e-2, 8e-2), (torch.float16, 2e-3, 1e-2)],
    ids=str,
)
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_precision(batch, dtype, of_output, of_gradient, rate):
    """Compare with 64 bits, on the rounded input."""
    pattern, head_dim = mate_pattern(4), 16
    qkv, weight = (tensor.detach().double() for tensor in inputs(batch, pattern.heads, head_dim, dtype))
    qkv.requires_grad_()
    expected = attend(qkv, build_plan(batch, pattern.kinds, "eager"), pattern, drawn(batch, pattern, rate))
    (gradient,) = torch.autograd.grad(expected, qkv, weight)
    output, ours = run(batch, pattern, "native", head_dim, dtype, rate)
    assert output.dtype == ours.dtype == dtype
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=of_output)
    torch.testing.assert_close(ours.double(), gradient, rtol=0, atol=of_gradient)


def test_large_and_small_scores():
    """Weights that underflow are near 0, and none overflows."""
    batch = layout([document(3, True, 5, 4, np.random.default_rng(1))], [0])
    pattern = PATTERNS["1:1"]
    qkv, _ = inputs(batch, pattern.heads, 16, torch.float32)
    with torch.no_grad():
        large = 40 * qkv
        expected = attend(large.double(), build_plan(batch, pattern.kinds, "eager"), pattern)
        got = attend(large, build_plan(batch, pattern.kinds, "native"), pattern)
    torch.testing.assert_close(got.double(), expected, rtol=0, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("part", [0, 1, 2], ids=["query", "key", "value"])
def test_nan_is_not_hidden(batch, dtype, part):
    """Every output that saw the token is NaN, and no other."""
    pattern = mate_pattern(2)
    qkv, weight = inputs(batch, 2, 16, dtype)
    token = int(np.flatnonzero((batch.document == 0) & (batch.row == 2))[0])
    with torch.no_grad():
        qkv[token, 16 * part : 16 * (part + 1)] = torch.nan  # in the row head
    output = attend(qkv, build_plan(batch, pattern.kinds, "native"), pattern)
    (gradient,) = torch.autograd.grad(output, qkv, weight)
    seen = np.arange(len(batch.document)) == token
    if part:
        seen = (batch.document == 0) & ((batch.segment == 0) | (batch.row == 2))
    assert torch.equal(output[:, :16].isnan().any(1), torch.from_numpy(seen))
    assert not output[:, 16:].isnan().any()
    assert gradient.isnan().any()


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_threads_do_not_change_a_bit(batch, dtype, threads, monkeypatch):
    monkeypatch.setattr(planning, "_CHUNK", 500)  # several chunks for a question
    results = []
    for count in (1, 2, 8):
        threads(count)
        results.append(run(batch, mate_pattern(4), "native", 16, dtype, rate=0.1))
    for others in results[1:]:
        assert all(torch.equal(ours, first) for ours, first in zip(others, results[0], strict=True))


@pytest.mark.parametrize("pairs", [1, 300, 5000])
def test_chunks_do_not_change_the_result(batch, pairs, monkeypatch):
    expected = run(batch, mate_pattern(4), "native", 16)
    whole = native_plan(batch, ("row",))
    monkeypatch.setattr(planning, "_CHUNK", pairs)
    assert len(native_plan(batch, ("row",)).groups[0].chunks) > len(whole.groups[0].chunks)
    for ours, reference in zip(run(batch, mate_pattern(4), "native", 16), expected, strict=True):
        torch.testing.assert_close(ours, reference, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["row", "column", "full"])
@pytest.mark.parametrize("pairs", [100, 1 << 17])
def test_each_token_is_in_one_place_of_the_plan(batch, kind, pairs, monkeypatch):
    monkeypatch.setattr(planning, "_CHUNK", pairs)
    (group,) = native_plan(batch, (kind,)).groups
    order, documents, lines, chunks = (
        tensor.numpy() for tensor in (group.order, group.documents, group.lines, group.chunks)
    )
    assert sorted(order) == np.flatnonzero(batch.document >= 0).tolist()
    places = [p for begin, table, *_ in documents for p in range(begin, table)]
    places += [p for begin, end in lines for p in range(begin, end)]
    assert sorted(places) == list(range(len(order)))
    assert sorted(line for _, first, end, _ in chunks for line in range(first, end)) == list(range(len(lines)))
    for number, (begin, table, end, first_sum, parts) in enumerate(documents):
        assert set(batch.document[order[begin:end]]) == {number}
        assert sorted(part for owner, *_, part in chunks if owner == number) == list(range(parts))
        assert first_sum == sum(row[4] * (row[1] - row[0]) for row in documents[:number])
        question = [] if kind == "full" else np.flatnonzero((batch.document == number) & (batch.segment == 0))
        assert order[begin:table].tolist() == list(question)
    assert group.sums == sum(row[4] * (row[1] - row[0]) for row in documents)


class Attended(Dataset):
    """Computes in the worker too: plans alone need no library."""

    def __init__(self, batch):
        self.batch, self.planner = batch, PatternPlanner(("row", "column"), native=True)

    def __len__(self):
        return 2

    def __getitem__(self, number):
        plan = self.planner(self.batch)
        qkv, _ = inputs(self.batch, 2, 16, torch.float32)
        return plan, attend(qkv, plan, mate_pattern(2)).detach()


def test_loader_workers_plan_and_compute_after_threads_were_used(batch, threads):
    threads(2)
    qkv, _ = inputs(batch, 2, 16, torch.float32)
    expected = attend(qkv, build_plan(batch, ("row", "column"), "native"), mate_pattern(2)).detach()
    context = multiprocessing.get_context("fork")
    loader = DataLoader(Attended(batch), batch_size=None, num_workers=2, multiprocessing_context=context, timeout=60)
    for plan, from_worker in loader:
        assert plan.backend == "native"
        assert torch.equal(from_worker, expected)
        assert torch.equal(attend(qkv, plan, mate_pattern(2)), expected)


def test_full_heads_have_no_question(batch):
    (group,) = native_plan(batch, full_pattern(2).kinds).groups
    assert group.sums == 0


def test_an_empty_batch():
    none = np.zeros(0, np.int64)
    padding = Layout(none - 1, none, none, none)
    for batch in (padding, Layout(np.full(3, -1), *(np.zeros(3, np.int64) for _ in range(3)))):
        output, gradient = run(batch, mate_pattern(2), "native", 16)
        assert not output.any()
        assert not gradient.any()
