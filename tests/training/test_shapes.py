"""Length classes: the cheapest ones, and shapes that hold every example of theirs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mate_cli.attention import FixedShape, PatternPlanner
from mate_cli.encoding.fixed import FixedCollator
from mate_cli.training import shapes
from mate_cli.training.rows import Rows
from mate_cli.training.sampler import StepSampler
from mate_cli.training.shapes import (
    COMPILATION,
    LENGTH_UNIT,
    MOST_CLASSES,
    ShapedRows,
    ShapesCollator,
    class_borders,
    fixed_classes,
    needs_of,
    shape_numbers,
    tokens_computed,
)

PLANNER = PatternPlanner(("row", "column"), "blocks", "xla")


def price(borders, lengths, batch, steps):
    """Tokens of a pass, with the cost of each class, from the definition."""
    padded = sum(min(border for border in borders if border >= length) for length in lengths)
    compilations = COMPILATION * len(lengths) / (steps * batch)
    return padded + len(borders) * batch * max(borders) * (0.5 + compilations)


@given(
    st.lists(st.integers(1, 500), min_size=1, max_size=60),
    st.integers(0, 90),
    st.integers(1, 8),
    st.integers(1, 10**5),
)
@example([1, 65, 72], 90, 1, 1158)  # a class of 162 tokens for no training example would be cheaper
def test_no_other_classes_are_cheaper(lengths, more, batch, steps):
    longest = max(lengths) + more
    borders = class_borders(np.array(lengths), longest, batch, steps)
    assert borders == tuple(sorted(set(borders)))
    assert borders[-1] == longest
    assert len(borders) <= MOST_CLASSES
    multiples = range(LENGTH_UNIT, longest, LENGTH_UNIT)
    assert set(borders[:-1]) <= set(multiples)
    others = ((*own, longest) for count in range(MOST_CLASSES) for own in combinations(multiples, count))
    filled = [own for own in others if {min(b for b in own if b >= length) for length in lengths} == set(own)]
    best = min(price(own, lengths, batch, steps) for own in filled)
    assert price(borders, lengths, batch, steps) == pytest.approx(best)


def test_short_runs_and_single_batches_have_one_class():
    lengths = np.array([60, 500] * 500)
    assert class_borders(lengths, 512, batch=8, steps=10_000) == (64, 512)
    assert class_borders(lengths, 512, batch=8, steps=10) == (512,)
    assert class_borders(lengths, 512, batch=1000, steps=10_000) == (512,)


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=80), st.integers(1, 9), st.lists(st.integers(1, 200), max_size=2)
)
def test_the_tokens_computed_are_those_of_the_batches(lengths, batch, borders):
    """But where a class ends, at other places in each pass."""
    borders = sorted({*borders, 300})
    classes = np.searchsorted(borders, lengths)
    passes = batch  # after so many, steps and passes end together
    sampler = StepSampler(len(lengths), batch, batch, len(lengths), 0, classes=classes)
    drawn = sum(borders[number] for pairs in sampler for _, number in pairs)
    assert abs(drawn / passes - tokens_computed(np.array(lengths), borders, batch)) <= len(borders) * batch * 300


def row(question, rows, columns, seed=0):
    """An encoded row of so many question tokens and a table of one token a cell, headers included."""
    lines, places = np.divmod(np.arange((rows + 1) * columns), columns)
    tokens = question + len(lines)
    zeros = np.zeros(question, int)
    arrays = {"row": np.r_[zeros, lines], "column": np.r_[zeros, places + 1], "segment": np.r_[zeros, lines * 0 + 1]}
    rest = dict.fromkeys(("prev_label", "column_rank", "inv_column_rank", "numeric_relation", "labels"), [0] * tokens)
    ids = np.random.default_rng(seed).integers(1, 99, tokens)
    numbers = {"label": -1, "operator": -1, "answer_value": np.nan, "cell_value": [np.nan] * tokens}
    pieces = {"input_ids": ids, "position": np.arange(tokens)}
    return {"id": f"{question} {rows} {columns}", **pieces, **numbers, **arrays, **rest}


sizes = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40), st.integers(1, 4)), min_size=1, max_size=8)


@settings(max_examples=25)
@given(sizes, sizes, st.lists(st.integers(1, 200), max_size=2))
def test_each_shape_holds_its_class_and_the_shorter_ones(train, dev, borders):
    train, dev = ([row(*size) for size in own] for own in (train, dev))
    longest = max(len(own["input_ids"]) for own in train + dev)
    borders = sorted({own for own in borders if own < longest} | {longest})
    rows = Rows(train, dev, is_stream=False, mean_length=1.0)
    classes = fixed_classes(rows, 4, 2, 10, longest, borders)
    assert [shape.tokens for shape in classes.shapes] == borders
    collator = ShapesCollator(FixedCollator(PLANNER, shape) for shape in classes.shapes)
    for number, own in enumerate(train + dev):
        least = int(np.searchsorted(borders, len(own["input_ids"])))
        for shape in range(least, len(borders)):
            batch = collator([ShapedRows(train + dev)[number, shape]])
            assert len(batch.input_ids) == 2 * borders[shape]


@settings(max_examples=25)
@given(sizes)
def test_needs_of_many_rows_are_those_of_each(made):
    rows = [row(*size) for size in made]
    together = needs_of(rows)
    for own, one in zip(rows, together, strict=True):
        assert one[0] == len(own["input_ids"])
        assert one[1] == (own["segment"] == 0).sum()
        shape = FixedShape(1, int(one[0]), *map(int, one[1:]))
        FixedCollator(PLANNER, shape)([own])
        alone = needs_of([own])[0]
        np.testing.assert_array_equal(np.maximum(one, 32), np.maximum(alone, 32))


def test_a_row_goes_to_the_first_shape_that_holds_it_else_to_the_last():
    small, wide, largest = FixedShape(2, 64, 32, 32, 64), FixedShape(2, 128, 32, 32, 64), FixedShape(2, 256, 9, 9, 9)
    needs = np.array([[60, 5, 30, 64], [60, 5, 30, 65], [65, 5, 30, 64], [300, 99, 99, 99]])
    assert shape_numbers(needs, [small, wide, largest]).tolist() == [0, 2, 1, 2]


def test_a_stream_has_one_class_of_the_widest_shape():
    rows = Rows([], [], is_stream=True, mean_length=1.0)
    classes = fixed_classes(rows, 8, 4, 10, 256)
    assert classes.shapes == (FixedShape(4, 256, 256, 256, 256),)
    assert classes.describe() == "batches of one shape: 256 tokens (column window 256)"


def test_the_line_tells_classes_and_tokens(monkeypatch):
    monkeypatch.setattr(shapes, "COMPILATION", 0)
    train = [row(4, 14, 4)] * 30 + [row(4, 60, 4)] * 10
    classes = fixed_classes(Rows(train, train[:1], False, 1.0), 2, 2, 100, 256)
    assert classes.describe() == (
        "batches of one length class each: 64 tokens (column window 64), 256 tokens (column window 128); "
        "1.02 tokens computed for each one needed, 2.33 with one shape; "
        "column heads compute 34% of the pairs of one shape"
    )
    assert classes.facts()["column_pairs"] == pytest.approx(
        (30 * 64 * 64 + 10 * 256 * 128) / (40 * 256 * 128), abs=1e-4
    )
    assert classes.facts()["tokens_of_pass"] == {"needed": 4400, "computed": 4480, "computed_with_one_shape": 10240}
    assert classes.facts()["length_classes"] == [64, 256]
