"""What Theorem 1 asks of an attention pattern (paper section 3.3, appendix C).

The proof needs three heads, so that two share a pattern, and of that pattern what Yun et al. (2020) assume: every
token sees itself, and one token sees and is seen by all, by which any two are at most two steps apart.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.attention import allowed, mate_pattern


@st.composite
def tables(draw):
    """Row, column and segment of a question of 1 to 6 tokens and a table whose cells hold 0 to 3."""
    rows, columns = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    first = draw(st.integers(0, 1))  # with a header, or without
    tokens = [(0, 0, 0)] * draw(st.integers(1, 6))
    for row in range(first, rows + 1):
        for column in range(1, columns + 1):
            tokens += [(row, column, 1)] * draw(st.integers(0, 3))
    return torch.tensor(tokens).T


@pytest.mark.parametrize("kind", ["row", "column", "full", "row_or_column"])
@given(table=tables())
def test_the_pattern_satisfies_the_assumptions_of_the_theorem(kind, table):
    pairs = allowed(kind, *table)
    assert pairs.diagonal().all()
    assert pairs[0].all()
    assert pairs[:, 0].all()
    steps = pairs.long() @ pairs.long()
    assert (steps > 0).all()


@given(st.integers(3, 24), st.floats(0, 1))
def test_of_three_heads_two_share_a_pattern(heads, ratio):
    assert max(group.heads for group in mate_pattern(heads, ratio).groups) >= 2
