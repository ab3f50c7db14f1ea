"""Intervals, spread and order of results, against brute force and numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mate_cli.metrics.statistics import (
    Interval,
    Spread,
    bootstrap,
    mean_interval,
    median_run,
    paired_bootstrap,
    rank_correlation,
    spread,
)


def test_agrees_with_drawing_questions_one_by_one() -> None:
    generator = np.random.default_rng(3)
    values = generator.random(300) < 0.6
    drawn = values[generator.integers(0, 300, size=(20_000, 300))].mean(axis=1)
    interval = bootstrap(values)
    assert interval.mean == pytest.approx(values.mean())
    assert [interval.low, interval.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.006)


def test_a_pair_is_compared_question_by_question() -> None:
    generator = np.random.default_rng(5)
    first = generator.random(400) < 0.5
    second = first.copy()
    second[:12] = False
    difference = first.astype(float) - second
    interval = paired_bootstrap(first, second)
    assert interval.mean == pytest.approx(difference.mean())
    error = 1.96 * difference.std() / 20
    assert [interval.low, interval.high] == pytest.approx([interval.mean - error, interval.mean + error], abs=0.004)
    # Unpaired, the same difference would drown: the interval of either alone is far wider.
    assert bootstrap(first).high - bootstrap(first).low > 3 * (interval.high - interval.low)


def test_questions_that_belong_together_are_drawn_together() -> None:
    """Against drawing conversations one by one; each is all right or all wrong, which widens the interval."""
    generator = np.random.default_rng(7)
    sizes = generator.integers(1, 6, size=120)
    groups = np.repeat(np.arange(120), sizes)
    values = (generator.random(120) < 0.5)[groups]
    members = [values[groups == number] for number in range(120)]
    picks = generator.integers(0, 120, size=(4000, 120))
    drawn = [np.concatenate([members[number] for number in pick]).mean() for pick in picks]
    interval = bootstrap(values, groups)
    assert interval.mean == pytest.approx(values.mean())
    assert [interval.low, interval.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.01)
    alone = bootstrap(values)
    assert interval.high - interval.low > 1.5 * (alone.high - alone.low)
    assert bootstrap(values, np.arange(len(values))) == alone
    assert paired_bootstrap(values, ~values, groups).high > paired_bootstrap(values, ~values).high


def test_it_is_the_same_each_time_and_a_point_where_all_are_equal() -> None:
    values = np.sqrt(np.arange(50))
    assert bootstrap(values) == bootstrap(values)
    assert bootstrap([1, 1, 1]) == bootstrap([True] * 5)
    assert (bootstrap([1, 1, 1]).low, bootstrap([1, 1, 1]).high) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("hits", "questions", "low", "high"),
    # Worked out from (p + z^2/2n -+ z sqrt(p(1 - p)/n + z^2/4n^2)) / (1 + z^2/n) with z = 1.959964.
    [
        (6, 6, 0.60967, 1.0),
        (0, 6, 0.0, 0.39033),
        (1, 1, 0.20655, 1.0),
        (5, 10, 0.23659, 0.76341),
        (157, 170, 0.87357, 0.95477),
    ],
)
def test_a_share_has_wilsons_interval(hits: int, questions: int, low: float, high: float) -> None:
    result = mean_interval(np.arange(questions) < hits)
    assert result.mean == pytest.approx(hits / questions)
    assert [result.low, result.high] == pytest.approx([low, high], abs=1e-4)


def test_wilson_and_bootstrap_agree_on_many_questions() -> None:
    hits = np.arange(2000) < 1300
    share, drawn = mean_interval(hits), bootstrap(hits)
    assert [share.low, share.high] == pytest.approx([drawn.low, drawn.high], abs=0.002)


def test_other_means_are_resampled_and_uniform_groups_count_once() -> None:
    f1 = [0.5, 1.0, 0.0, 0.8]
    assert mean_interval(f1) == bootstrap(f1)
    hits, groups = [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2]
    assert mean_interval(hits, groups) == bootstrap(hits, groups)
    assert mean_interval([True] * 6, groups) == mean_interval([True] * 3)
    assert mean_interval(hits, np.arange(6)) == mean_interval(hits)
    with pytest.raises(ValueError, match="at least one"):
        mean_interval([])


def test_a_constant_difference_is_no_certain_one() -> None:
    assert paired_bootstrap([1] * 6, [0] * 6) == Interval(1.0, pytest.approx(2 * 0.60967 - 1, abs=1e-4), 1.0)
    same = paired_bootstrap([1, 0] * 3, [1, 0] * 3)
    assert (same.mean, same.low, same.high) == pytest.approx((0.0, -0.39033, 0.39033), abs=1e-4)
    many = paired_bootstrap([0] * 2000, [1] * 2000)
    assert (many.mean, many.low, many.high) == pytest.approx((-1, -1, -1), abs=0.005)
    grouped = paired_bootstrap([1] * 6, [0] * 6, [0, 0, 1, 1, 2, 2])
    assert grouped == paired_bootstrap([1] * 3, [0] * 3)
    assert paired_bootstrap([0.5] * 3, [0.25] * 3) == Interval(0.25, 0.25, 0.25)  # no outcomes of yes or no


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="at least one"):
        bootstrap([])
    with pytest.raises(ValueError, match="paired values"):
        paired_bootstrap([1, 0], [1])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([70, 60, 64, 61, 63], Spread(63, (64 - 61) / 2, 5)),  # sorted: 60 61 63 64 70
        ([1, 2, 3, 4], Spread(2.5, (3.25 - 1.75) / 2, 4)),
        ([5, 1], Spread(3, (4 - 2) / 2, 2)),
        ([7], Spread(7, None, 1)),
    ],
)
def test_median_and_half_the_interquartile_range(values: list[float], expected: Spread) -> None:
    assert spread(values) == expected


def test_no_seed_is_a_mistake_of_ours() -> None:
    for function in (spread, median_run):
        with pytest.raises(ValueError, match="no seed"):
            function([])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("scores", "seed"),
    [
        ({0: 63.0, 1: 60.0, 2: 70.0, 3: 64.0, 4: 61.0}, 0),
        ({0: 1.0, 1: 4.0, 2: 3.0, 3: 2.0}, 3),  # the lower of 2 and 3
        ({5: 2.0, 1: 2.0, 3: 2.0}, 3),
        ({4: 0.0}, 4),
    ],
)
def test_the_median_run(scores: dict[int, float], seed: int) -> None:
    assert median_run(scores) == seed


def test_rank_correlation() -> None:
    """Of 1 - 6 * sum of squared differences of ranks / (n (n² - 1))."""
    assert rank_correlation([10, 20, 30, 40], [1, 2, 3, 4]) == pytest.approx(1)
    assert rank_correlation([40, 30, 20, 10], [1, 2, 3, 4]) == pytest.approx(-1)
    assert rank_correlation([10, 30, 20, 40], [1, 2, 3, 4]) == pytest.approx(1 - 6 * 2 / 60)
    # Ties take the mean of their ranks: 1.5, 1.5, 3 against 1, 2, 3 is a correlation of 1.5 / sqrt(1.5 * 2).
    assert rank_correlation([5, 5, 9], [1, 2, 3]) == pytest.approx(1.5 / math.sqrt(3))
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([3, 3, 3], [1, 2, 3]) is None
