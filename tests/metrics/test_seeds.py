"""Seeds together and orders side by side, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from mate_cli.metrics.bootstrap import Interval
from mate_cli.metrics.seeds import Contrast, Spread, contrast, median_run, rank_correlation, spread


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


def test_a_contrast_pairs_the_seeds_that_both_have() -> None:
    found = contrast({0: 10.0, 1: 12.0, 2: 14.0}, {1: 11.0, 2: 11.0, 7: 99.0}, theirs=0.5)
    assert found is not None
    # Differences 1 and 3; of two draws with replacement the mean is 1, 2 or 3, so the middle 95% reach from 1 to 3.
    assert (found.ours, found.n, found.verdict) == (Interval(2.0, 1.0, 3.0), 2, "agrees")
    assert contrast({0: 1.0}, {1: 1.0}, theirs=1.0) is None


def test_one_seed_leaves_the_sign_open() -> None:
    found = contrast({3: 10.0}, {3: 5.0}, theirs=1.0)
    assert found is not None
    assert found.ours.mean == 5
    assert math.isnan(found.ours.low)
    assert found.verdict == "open"


@pytest.mark.parametrize(
    ("interval", "theirs", "verdict"),
    [((2, 1, 3), 1, "agrees"), ((2, 1, 3), -1, "differs"), ((-2, -3, -1), -1, "agrees"), ((2, -1, 3), 1, "open"),
     ((2, 1, 3), 0, "open")],
)  # fmt: skip
def test_the_sign_of_a_contrast(interval: tuple[float, float, float], theirs: float, verdict: str) -> None:
    assert Contrast(Interval(*interval), theirs, 5).verdict == verdict
