"""Probabilities of differences, and their correction for several."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, t, ttest_ind

from mate_cli.metrics.comparisons import Contrast, Difference, contrast, holm, seeds_difference
from mate_cli.metrics.statistics import Interval, paired_bootstrap


@pytest.mark.parametrize(("better", "worse"), [(60, 40), (90, 40), (520, 480)])
def test_the_probability_is_near_that_of_an_exact_test_of_the_pairs(better: int, worse: int) -> None:
    """McNemar's: of the questions that one side alone has right, half are either's if there is no difference."""
    first = np.repeat([1, 0, 1, 0], [better, worse, 150, 150])
    second = np.repeat([0, 1, 1, 0], [better, worse, 150, 150])
    exact = binomtest(better, better + worse).pvalue
    assert Difference(paired_bootstrap(first, second)).p == pytest.approx(exact, abs=0.02)


def test_an_interval_that_ends_at_zero_has_a_probability_of_five_per_cent() -> None:
    assert Difference(Interval(1.0, 0.0, 2.0)).p == pytest.approx(0.05)
    assert Difference(Interval(1.0, 0.0, 2.0), freedom=2).p == pytest.approx(0.05)
    assert math.isnan(Difference(Interval(1.0, 1.0, 1.0)).p)


def test_intervals_of_several_comparisons_hold_all_at_once() -> None:
    """Drawn without any difference: in 95% of families, no interval leaves out 0."""
    drawn = np.random.default_rng(0).normal(size=(2000, 8))
    families = [[Difference(Interval(x, x - 1.959964, x + 1.959964)).among(8) for x in family] for family in drawn]
    covered = np.mean([all(interval.low <= 0 <= interval.high for interval in family) for family in families])
    assert covered == pytest.approx(0.95, abs=0.012)
    uneven = Interval(1.0, 0.5, 2.0)
    assert Difference(uneven).among(1) == uneven


def test_the_difference_over_seeds_is_that_of_the_t_test() -> None:
    first, second = [55.25, 58.0, 52.5], [17.0, 18.25, 16.5]
    difference, reference = seeds_difference(first, second), ttest_ind(first, second)
    assert difference is not None
    assert difference.p == pytest.approx(reference.pvalue)
    limits = reference.confidence_interval()
    assert (difference.interval.low, difference.interval.high) == pytest.approx((limits.low, limits.high))


def test_one_run_has_the_spread_of_the_other_side() -> None:
    """A new value of a normal distribution known by three: its deviation has sqrt(1 + 1/3) of their spread."""
    first = [55.25, 58.0, 52.5]
    difference = seeds_difference(first, [18.75])
    assert difference is not None
    distance = (np.mean(first) - 18.75) / (np.std(first, ddof=1) * math.sqrt(4 / 3))
    assert difference.p == pytest.approx(2 * t.sf(distance, 2))
    assert seeds_difference([1.0], [2.0]) is None
    assert seeds_difference([1.0, 1.0], [2.0]) is None
    assert seeds_difference([1.0, 2.0], []) is None


def test_holm_corrects_by_rank_and_keeps_the_order() -> None:
    """Of four: 0.01 by 4, 0.02 by 3, 0.03 by 2, 0.9 by 1, none below the one before."""
    chances = {"b": 0.02, "a": 0.01, "c": 0.03, "one seed": math.nan, "d": 0.9}
    corrected = holm(chances)
    assert list(corrected) == list(chances)
    assert [corrected[name] for name in "abcd"] == pytest.approx([0.04, 0.06, 0.06, 0.9])
    assert math.isnan(corrected["one seed"])


def test_a_contrast_is_the_difference_over_seeds_beside_the_papers() -> None:
    first, second = [55.25, 58.0, 52.5], [17.0, 18.25, 16.5]
    result, reference = contrast(first, second, theirs=0.5), ttest_ind(first, second)
    assert result is not None
    assert (result.runs, result.theirs, result.verdict) == ((3, 3), 0.5, "differs")
    assert result.ours.mean == pytest.approx(np.mean(first) - np.mean(second))
    assert result.p == pytest.approx(reference.pvalue)
    assert contrast([], second, theirs=1.0) is None


def test_the_interval_over_three_seeds_covers_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    drawn = zip(generator.normal(1.0, 2.0, (2000, 3)), generator.normal(0.0, 2.0, (2000, 3)), strict=True)
    results = [contrast([*first], [*second], 1.0) for first, second in drawn]
    covered = sum(result is not None and result.ours.low <= 1 <= result.ours.high for result in results)
    assert covered / len(results) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("runs", [1, 2])
def test_seeds_without_spread_leave_it_open(runs: int) -> None:
    result = contrast([10.1] * runs, [5.0] * runs, theirs=5.0)
    assert result is not None
    assert result.ours.mean == pytest.approx(5.1)
    assert math.isnan(result.ours.low)
    assert math.isnan(result.p)
    assert result.verdict == "open"


@pytest.mark.parametrize(
    ("interval", "p", "theirs", "verdict"),
    [((2, 1, 3), 0.01, 1, "agrees"), ((2, 1, 3), 0.01, -1, "differs"), ((2, 1, 3), 0.01, 4, "differs"),
     ((2, -1, 3), 0.1, 1, "open"), ((2, 1, 3), 0.06, 1, "open"), ((2, -1, 3), 0.1, 9, "differs")],
)  # fmt: skip
def test_the_verdict_on_a_contrast(interval: tuple[float, float, float], p: float, theirs: float, verdict: str) -> None:
    assert Contrast(Interval(*interval), theirs, (3, 3), p).verdict == verdict
