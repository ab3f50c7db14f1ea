"""Batches filled up to one shape: the same attention as without filler, and plans whose sizes never change."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mate_cli.attention import (
    BACKENDS,
    FILLER,
    Buckets,
    FixedShape,
    HeadGroup,
    Layout,
    Pattern,
    PatternPlanner,
    attend,
    widest_shape,
)
from mate_cli.attention.blocks import windows_needed
from mate_cli.attention.linformer import LinformerPlanner, attend_linformer
from mate_cli.attention.table_etc import LABELS, TableEtcPlanner, attend_table_etc
from tests.attention.layouts import HEAD_DIM, PATTERNS, document, layout

TOKENS, DOCUMENTS, HIDDEN = 70, 3, 2 * HEAD_DIM
FIXED = sorted(name for name, own in BACKENDS.items() if own.fixed_shapes)
ROW_OR_COLUMN = Pattern((HeadGroup("row_or_column", 2),))


@st.composite
def documents(draw):
    """One to three documents of at most ``TOKENS`` tokens."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    shapes = st.tuples(st.integers(1, 9), st.booleans(), st.integers(0, 5), st.integers(0, 5))
    made = [document(*draw(shapes), rng, tokens=2) for _ in range(draw(st.integers(1, DOCUMENTS)))]
    return [own for own in made if len(own[0]) <= TOKENS] or [document(3, True, 2, 2, rng)]


def filled(made, shape):
    """Each document filled up to ``TOKENS``, and documents of filler alone behind them; where the real tokens are."""
    parts, real = [], []
    for number in range(shape.documents):
        row, column, segment = made[number] if number < len(made) else ([], [], [])
        rest = shape.tokens - len(row)
        real += [True] * len(row) + [False] * rest
        ends = ([number] * rest, [FILLER] * rest, [FILLER] * rest, [1] * rest)
        own = ([number] * len(row), row, column, segment)
        parts.append([np.array([*a, *b], np.int64) for a, b in zip(own, ends, strict=True)])
    return Layout(*(np.concatenate(own) for own in zip(*parts, strict=True)), shape), torch.tensor(real)


def exact_shape(made):
    """The least that holds the documents."""
    own = [layout([one], [0]) for one in made]
    windows = [max(int(windows_needed(kind, one)[0]) for one in own) for kind in ("row", "column")]
    return FixedShape(DOCUMENTS, TOKENS, max(int((one.segment == 0).sum()) for one in own), *windows)


def output_and_gradient(compute, packed, weight):
    inputs = packed.clone().requires_grad_()
    output = compute(inputs)
    (gradient,) = torch.autograd.grad((output * weight).sum(), inputs)
    return output.detach(), gradient


def assert_same(made, shape, planner, compute, width):
    """Of a batch with filler, whose states are anything, the real tokens come out as without."""
    fixed, real = filled(made, shape)
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(len(real), width, generator=generator, dtype=torch.float64)
    weight = torch.randn(len(real), width // 3, generator=generator, dtype=torch.float64) * real[:, None]
    plain = layout(made, [0] * len(made))
    expected = output_and_gradient(lambda x: compute(x, planner(plain)), states[real], weight[real])
    got = output_and_gradient(lambda x: compute(x, planner(fixed)), states, weight)
    for ours, reference in zip(got, expected, strict=True):
        assert ours.isfinite().all()
        torch.testing.assert_close(ours[real], reference, rtol=0, atol=1e-10)
    assert not got[1][~real].any(), "filler is learned from"


@settings(max_examples=60)
@given(documents(), st.sampled_from(["1:1", "rows", "columns", "full"]), st.sampled_from(FIXED), st.booleans())
def test_filler_changes_nothing(made, name, backend, exact):
    if backend == "bucketed" and name == "full":
        return
    shape = exact_shape(made) if exact else widest_shape(DOCUMENTS, TOKENS)
    planner = PatternPlanner(PATTERNS[name].kinds, backend, buckets=Buckets(5, 7))
    width = 3 * PATTERNS[name].heads * HEAD_DIM
    assert_same(made, shape, planner, lambda qkv, plan: attend(qkv, plan, PATTERNS[name]), width)


@settings(max_examples=20)
@given(documents())
def test_filler_changes_nothing_in_one_mask_for_all_heads(made):
    planner = PatternPlanner(ROW_OR_COLUMN.kinds, device="xla")
    shape = widest_shape(DOCUMENTS, TOKENS)
    assert_same(made, shape, planner, lambda qkv, plan: attend(qkv, plan, ROW_OR_COLUMN), 3 * HIDDEN)


@settings(max_examples=20)
@given(documents())
def test_filler_changes_nothing_in_linformer(made):
    projection = torch.randn(TOKENS, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    shape = widest_shape(DOCUMENTS, TOKENS)
    planner = LinformerPlanner(TOKENS)
    assert_same(made, shape, planner, lambda qkv, plan: attend_linformer(qkv, projection, plan, 2), 3 * HIDDEN)


@settings(max_examples=20)
@given(documents())
def test_filler_changes_nothing_in_table_etc(made):
    """The states of global tokens stand behind those of the batch: the same by document and number."""
    generator = torch.Generator().manual_seed(1)
    relative = torch.randn(LABELS, HIDDEN, generator=generator, dtype=torch.float64)
    memory = torch.randn(256, 3 * HIDDEN, generator=generator, dtype=torch.float64)

    def compute(qkv, plan):
        every = torch.cat([qkv, memory[plan.slots]])
        return attend_table_etc(every, relative, plan, 2)[: len(qkv)]

    assert_same(made, widest_shape(DOCUMENTS, TOKENS), TableEtcPlanner(6), compute, 3 * HIDDEN)


def sizes(value):
    """The shapes of all tensors of a plan, and its numbers."""
    if isinstance(value, Tensor):
        return tuple(value.shape)
    return tuple(map(sizes, value)) if isinstance(value, tuple) else value


PLANNERS = {
    **{name: PatternPlanner(("row", "column"), name) for name in FIXED},
    "full": PatternPlanner(("full",), device="xla"),
    "row or column": PatternPlanner(("row_or_column",), device="xla"),
    "linformer": LinformerPlanner(TOKENS),
    "table_etc": TableEtcPlanner(6),
}


@settings(max_examples=30)
@given(documents(), documents(), st.sampled_from(sorted(PLANNERS)))
def test_sizes_of_plans_are_those_of_the_shape(one, other, name):
    shape = widest_shape(DOCUMENTS, TOKENS)
    plans = [PLANNERS[name](filled(made, shape)[0]) for made in (one, other)]
    of_each = [[sizes(own) for key, own in vars(plan).items() if key != "coverages"] for plan in plans]
    assert of_each[0] == of_each[1]


def test_what_does_not_fit_is_refused():
    made = [document(9, True, 9, 3, np.random.default_rng(0))]
    narrow = FixedShape(1, TOKENS, 4, TOKENS, TOKENS)
    with pytest.raises(ValueError, match="a document has 9 queries or keys"):
        PatternPlanner(("row",), "blocks")(filled(made, narrow)[0])
    table = [document(2, True, 20, 1, np.random.default_rng(0), tokens=4)]
    thin = FixedShape(1, TOKENS, 32, 32, 32)
    with pytest.raises(ValueError, match="a line needs a window"):
        PatternPlanner(("column",), "blocks")(filled(table, thin)[0])
