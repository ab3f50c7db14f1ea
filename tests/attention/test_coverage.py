"""What a bucketed setting sees: the count by buckets against the pairs of the plan itself, and of the definition."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.attention import Buckets, Layout, allowed
from mate_cli.attention.bucketed import bucketed_plan
from mate_cli.attention.coverage import bucket_coverage
from mate_cli.attention.plan import sort_by_line


@st.composite
def layouts(draw):
    """Documents of a question and cells in any order, some with ids far apart; padding between."""
    tokens = []
    for number in range(draw(st.integers(1, 3))):
        cells = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(1, 5)), max_size=12))
        asked = draw(st.integers(0 if cells else 1, 6))
        tokens += [(number, 0, 0, 0)] * asked
        tokens += [(number, row, column, 1) for row, column, count in cells for _ in range(count)]
        tokens += [(-1, 0, 0, 0)] * draw(st.integers(0, 2))
    return Layout(*np.array(tokens, dtype=np.int64).T)


def same_document(layout):
    document = layout.document
    return (document[:, None] == document) & (document >= 0)


def defined_pairs(kind, layout):
    """The dense mask of the batch."""
    ids = (torch.from_numpy(x) for x in (layout.row, layout.column, layout.segment))
    return allowed(kind, *ids).numpy() & same_document(layout)


def seen_pairs(kind, layout, global_size, radius):
    """The mask and the paper's words (section 3.1), pair by pair: either is global, or their buckets are neighbours."""
    pairs = defined_pairs(kind, layout)
    line = layout.row if kind == "row" else layout.column
    for number in range(layout.document.max() + 1):
        own = np.flatnonzero(layout.document == number)
        ranked = sorted(own, key=lambda token: (line[token], layout.segment[token] != 0, token))
        bucket = {token: (rank - global_size) // radius for rank, token in enumerate(ranked)}
        for i in own:
            for j in own:
                near = abs(bucket[i] - bucket[j]) <= 1
                pairs[i, j] &= near or bucket[i] < 0 or bucket[j] < 0
    return pairs


def planned_pairs(plan):
    """Which keys each token has in the plan of one kind of head."""
    (group,) = plan.groups
    buckets, _, radius, width = group.mask.shape
    pairs = np.zeros((plan.tokens, plan.tokens), dtype=bool)
    keys = group.key_index.view(buckets, width)
    starts = np.cumsum(plan.pieces)[::2]
    own = [(start, row) for start, mask in zip(starts, group.global_masks, strict=False) for row in mask]
    for token, place in enumerate(group.output_index.tolist()):
        if place < buckets * radius:
            assert group.query_index[place] == token
            bucket, offset = divmod(place, radius)
            pairs[token, keys[bucket][group.mask[bucket, 0, offset]]] = True
        elif place < buckets * radius + len(own):
            start, mask = own[place - buckets * radius]
            pairs[token, start + mask.nonzero()[:, 0]] = True
    return pairs


@settings(max_examples=150)
@given(layouts(), st.sampled_from(["row", "column"]), st.integers(1, 12), st.integers(1, 9))
def test_coverage_counts_the_pairs_that_the_plan_has(layout, kind, global_size, radius):
    expected = seen_pairs(kind, layout, global_size, radius)
    plan = bucketed_plan(layout, (kind,), Buckets(global_size, radius))
    np.testing.assert_array_equal(planned_pairs(plan), expected)
    table = (layout.segment != 0) & (layout.document >= 0)
    counted = table[:, None] & table & ~np.eye(len(table), dtype=bool)
    coverage = bucket_coverage(sort_by_line(kind, layout), global_size, radius)
    dense = defined_pairs(kind, layout)
    assert coverage.seen == (expected & counted).sum()
    assert coverage.pairs == (dense & counted).sum()
    assert coverage.exact == plan.exact == np.array_equal(expected, dense)


def test_nothing_to_see_is_all_seen():
    zeros = np.zeros(3, np.int64)
    question = Layout(zeros, zeros, zeros, zeros)
    assert bucket_coverage(sort_by_line("row", question), 1, 1) == (0, 0, True)
    assert bucket_coverage(sort_by_line("row", question), 1, 1).share == 1.0
    long = Layout(*(np.repeat(x, 3) for x in (zeros, zeros, zeros, zeros)))
    assert not bucket_coverage(sort_by_line("row", long), 1, 1).exact


def test_a_line_within_two_buckets_is_seen_whole():
    """docs/notes.md, note 14: lines of at most R + 1 tokens always, of more than 2 R never."""
    for length, always in [(5, True), (11, False)]:
        for shift in range(5):
            lines = np.r_[np.zeros(2 + shift, int), np.repeat(np.arange(1, 9), length)]
            segment = np.r_[np.zeros(2, int), np.ones(len(lines) - 2, int)]
            layout = Layout(np.zeros_like(lines), lines, lines, segment)
            coverage = bucket_coverage(sort_by_line("row", layout), 2, 4 if always else 5)
            assert coverage.exact == always
