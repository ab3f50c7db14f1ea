"""The order of training examples: a function of seed and step, whatever the start, the ranks, the micro-batch."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.training.sampler import StepSampler, StreamSampler, rank_share, shares_by_class


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 3), st.integers(1, 12), st.integers(0, 5))
def test_a_late_start_continues_the_same_stream(examples, micro, accumulation, steps, seed):
    whole = StepSampler(examples, micro * accumulation, micro, steps, seed)
    start = steps // 2
    late = StepSampler(examples, micro * accumulation, micro, steps, seed, start=start)
    assert list(late) == list(whole)[start * accumulation :]
    assert len(late) == len(whole) == len(list(whole))


@given(st.integers(1, 40), st.integers(0, 5))
def test_each_pass_sees_every_example_once(examples, seed):
    batch = 4
    sampler = StepSampler(examples, batch, 2, steps=examples, seed=seed)
    stream = [i for indices in sampler for i in indices]
    assert len(stream) == batch * examples
    assert Counter(stream) == dict.fromkeys(range(examples), batch)
    for start in range(0, len(stream), examples):
        assert sorted(stream[start : start + examples]) == list(range(examples))


def test_passes_are_shuffled_differently_and_by_the_seed():
    def order(seed, step):
        return StepSampler(100, 100, 10, 2, seed).step_indices(step)

    assert not np.array_equal(order(0, 0), order(0, 1))
    assert not np.array_equal(order(0, 0), order(1, 0))


@given(st.integers(1, 4), st.integers(1, 3))
def test_ranks_share_each_step(world_size, micro):
    batch = world_size * micro * 2
    ranks = [StepSampler(50, batch, micro, 3, 0, rank=r, world_size=world_size) for r in range(world_size)]
    by_step = np.array([[i for m in s for i in m] for s in ranks]).reshape(world_size, 3, -1)
    for step in range(3):
        assert sorted(by_step[:, step].ravel()) == sorted(ranks[0].step_indices(step))


@given(st.integers(1, 60), st.integers(1, 7), st.integers(1, 5))
def test_ranks_share_what_each_is_to_see_once(examples, batch, ranks):
    whole = list(range(examples))
    batches = [whole[start : start + batch] for start in range(0, examples, batch)]
    shares = [rank_share(examples, batch, rank, ranks) for rank in range(ranks)]
    by_rank = [[own[start : start + batch] for start in range(0, len(own), batch)] for own in shares]
    assert len({len(own) for own in by_rank}) == 1
    in_order = [own for place in zip(*by_rank, strict=True) for own in place]
    assert in_order[: len(batches)] == batches
    assert all(own in batches for own in in_order)
    assert len(in_order) - len(batches) < ranks


def test_one_rank_sees_all():
    assert rank_share(7, 3, 0, 1) == list(range(7))


def test_a_batch_that_does_not_divide_is_refused():
    with pytest.raises(ValueError, match="does not divide"):
        StepSampler(10, 5, 2, 1, 0)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 8))
def test_a_stream_is_taken_place_by_place_whatever_the_start_and_the_ranks(examples, micro, ranks, passes, steps):
    batch = micro * ranks * passes
    own = [
        StreamSampler(examples, batch, micro, steps, 0, start=1, rank=rank, world_size=ranks) for rank in range(ranks)
    ]
    taken = [place for sampler in own for indices in sampler for place in indices]
    assert sorted(taken) == list(range(batch, batch * steps))


drawn_classes = st.lists(st.integers(0, 2), min_size=1, max_size=50).map(np.array)


@given(drawn_classes, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(0, 5))
def test_classes_leave_each_example_once_in_a_pass_and_all_ranks_in_one_class(classes, micro, ranks, passes, seed):
    batch, steps = micro * ranks * passes, len(classes)
    whole = StepSampler(len(classes), batch, batch, steps, seed, classes=classes)
    stream = [index for pairs in whole for index, _ in pairs]
    for start in range(0, len(stream), len(classes)):
        assert sorted(stream[start : start + len(classes)]) == list(range(len(classes)))
    own = [list(StepSampler(len(classes), batch, micro, steps, seed, 0, rank, ranks, classes)) for rank in range(ranks)]
    for step, pairs in enumerate(whole):
        together = [pair for rank in own for pairs in rank[step * passes : (step + 1) * passes] for pair in pairs]
        assert sorted(together) == sorted(pairs)
        assert {number for _, number in pairs} == {classes[[index for index, _ in pairs]].max()}


@given(drawn_classes, st.integers(1, 9), st.integers(0, 5))
def test_few_steps_have_examples_of_several_classes(classes, batch, seed):
    """At most one for each border between two classes of a pass; none at its ends, if the lowest class is large."""
    classes = np.concatenate([classes, np.zeros(2 * batch, int)])
    passes = 4
    sampler = StepSampler(len(classes), batch, batch, passes * len(classes) // batch, seed, classes=classes)
    mixed = sum(len(set(classes[[index for index, _ in pairs]])) > 1 for pairs in sampler)
    assert mixed <= passes * 2


@given(drawn_classes, st.integers(1, 4), st.integers(1, 3), st.integers(1, 12), st.integers(0, 5))
def test_a_late_start_continues_the_same_classes(classes, micro, accumulation, steps, seed):
    batch, start = micro * accumulation, steps // 2
    whole = StepSampler(len(classes), batch, micro, steps, seed, classes=classes)
    late = StepSampler(len(classes), batch, micro, steps, seed, start, classes=classes)
    assert list(late) == list(whole)[start * accumulation :]


def test_steps_of_the_classes_come_in_random_order():
    classes = np.repeat([0, 1, 2], 100)
    order = [pairs[0][1] for pairs in StepSampler(300, 10, 10, 30, 0, classes=classes)]
    assert sorted(order) == np.repeat([0, 1, 2], 10).tolist()
    assert np.count_nonzero(np.diff(order)) > 10
    assert order != [pairs[0][1] for pairs in StepSampler(300, 10, 10, 30, 1, classes=classes)]


@given(drawn_classes, st.integers(1, 7), st.integers(1, 4))
def test_ranks_validate_each_example_once_and_together_in_one_class(classes, batch, ranks):
    shares = [shares_by_class(classes, batch, rank, ranks) for rank in range(ranks)]
    by_rank = [[own[start : start + batch] for start in range(0, len(own), batch)] for own in shares]
    assert {index for own in shares for index, _ in own} == set(range(len(classes)))
    alone = shares_by_class(classes, batch, 0, 1)
    assert sorted(index for index, _ in alone) == list(range(len(classes)))
    for together in zip(*by_rank, strict=True):
        pairs = [pair for own in together for pair in own]
        assert {number for _, number in pairs} == {classes[[index for index, _ in pairs]].max()}
