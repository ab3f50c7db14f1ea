"""Length classes: every line in one class, and never dearer than one class for all."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.attention.lines import length_classes


@given(st.lists(st.integers(1, 400), max_size=200), st.integers(0, 150))
def test_classes_cover_all_lines_once(lengths, question):
    ordered = np.array(sorted(lengths, reverse=True), dtype=np.int64)
    classes = length_classes(ordered, question)
    assert len(classes) <= 4
    assert [i for first, end in classes for i in range(first, end)] == list(range(len(ordered)))


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.integers(0, 150))
def test_classes_pad_no_more_than_one_class_would(lengths, question):
    ordered = np.array(sorted(lengths, reverse=True), dtype=np.int64)
    padded = sum((end - first) * ordered[first] for first, end in length_classes(ordered, question))
    assert padded <= len(ordered) * ordered[0]
