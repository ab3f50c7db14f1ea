"""Packed batches of small tables, and the patterns to compute on them."""

import numpy as np
from hypothesis import strategies as st

from mate_cli.attention import Layout, full_pattern, mate_pattern

HEAD_DIM = 4
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
