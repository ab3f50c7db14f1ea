"""The ragged plan against the definition: every pair that may attend is there once, and no other."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.attention import Layout, allowed
from mate_cli.attention.generated import table_layout
from mate_cli.attention.lines import ragged_plan


@st.composite
def layouts(draw):
    """Documents of 0 to 5 question tokens and table tokens with arbitrary, unsorted ids; padding between."""
    columns = [[], [], [], []]
    for number in range(draw(st.integers(1, 4))):
        question, padding = draw(st.integers(0, 5)), draw(st.integers(0, 3))
        cells = draw(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 4)), min_size=not question, max_size=25))
        tokens = [(number, 0, 0, 0)] * question + [(number, *cell, 1) for cell in cells] + [(-1, 0, 0, 0)] * padding
        for column, values in zip(columns, zip(*tokens, strict=True), strict=True):
            column += values
    return Layout(*(np.array(column, dtype=np.int64) for column in columns))


def planned_pairs(plan, kind):
    """How often query i meets key j in the blocks of a kind, int ``[tokens, tokens]``."""
    pairs = torch.zeros(plan.tokens + 1, plan.tokens, dtype=torch.int64)
    group = plan.groups[plan.kinds.index(kind)]
    for lines in group.classes:
        keys = lines.key_index.view(lines.lines, lines.keys)
        is_key = torch.ones_like(keys) if lines.key_bias is None else (lines.key_bias.view_as(keys) == 0).long()
        for line, targets in enumerate(lines.query_target.view(lines.lines, lines.queries)):
            for target in targets:
                pairs[target].index_add_(0, keys[line], is_key[line])
    for block in (*group.dense, *group.merged):
        pairs[block.query_start : block.query_end, block.key_start : block.key_end] += 1
    return pairs[: plan.tokens]


@pytest.mark.parametrize("kind", ["row", "column", "full"])
@given(layout=layouts(), apart=st.sampled_from([True, False, None]))
def test_each_allowed_pair_is_planned_once(kind, layout, apart):
    ids = (torch.from_numpy(x) for x in (layout.row, layout.column, layout.segment))
    document = torch.from_numpy(layout.document)
    same = (document[:, None] == document[None, :]) & (document >= 0)[:, None]
    expected = allowed(kind, *ids) & same
    assert torch.equal(planned_pairs(ragged_plan(layout, (kind,), apart), kind), expected.long())


@given(layouts())
def test_classes_are_shaped_for_the_kernel(layout):
    plan = ragged_plan(layout, ("row", "column"))
    for lines in (lines for group in plan.groups for lines in group.classes):
        assert lines.keys % 16 == 0
        real = lines.query_target < plan.tokens
        assert torch.equal(lines.query_index[real], lines.query_target[real])
        assert lines.is_query is None or torch.equal(lines.is_query[:, 0], real)
        assert (layout.document[lines.query_index] >= 0).all()


def test_a_question_inside_the_table_is_refused():
    zeros = np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="question"):
        ragged_plan(Layout(zeros, zeros + 1, zeros + 1, np.array([1, 0, 1])), ("row",))


def packed(tables):
    names = ("row", "column", "segment")
    numbers = np.repeat(np.arange(len(tables)), [len(table.row) for table in tables])
    return Layout(numbers, *(np.concatenate([getattr(table, name) for table in tables]) for name in names))


def rows_moved(plan):
    return sum(len(lines.key_index) for group in plan.groups for lines in group.classes)


def test_a_long_question_is_not_copied_to_many_short_lines():
    """One column, 1,024 tokens, question 190: about a hundred rows of a few tokens."""
    layout = packed([table_layout("column", 1024, question=190)])
    assert rows_moved(ragged_plan(layout, ("row",))) < 3 * 1024
    assert rows_moved(ragged_plan(layout, ("row",), apart=False)) > 15 * 1024


def test_one_long_question_pads_no_other_document():
    short = [table_layout("grid", 320, question=10, seed=seed) for seed in range(7)]
    alone, mixed = packed(short), packed([*short, table_layout("grid", 320, question=250)])
    for kind in ("row", "column"):
        assert rows_moved(ragged_plan(mixed, (kind,))) < rows_moved(ragged_plan(alone, (kind,))) + 3 * 320
