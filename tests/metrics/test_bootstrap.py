"""The bootstrap against drawing questions one by one, and against the normal approximation."""

from __future__ import annotations

import numpy as np
import pytest

from mate_cli.metrics.bootstrap import bootstrap, paired_bootstrap


def test_agrees_with_drawing_questions_one_by_one() -> None:
    generator = np.random.default_rng(3)
    values = generator.random(300) < 0.6
    drawn = values[generator.integers(0, 300, size=(20_000, 300))].mean(axis=1)
    interval = bootstrap(values, samples=20_000)
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
    interval = bootstrap(values, groups, samples=20_000)
    assert interval.mean == pytest.approx(values.mean())
    assert [interval.low, interval.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.01)
    alone = bootstrap(values)
    assert interval.high - interval.low > 1.5 * (alone.high - alone.low)
    assert bootstrap(values, np.arange(len(values))) == alone
    assert paired_bootstrap(values, ~values, groups).high > paired_bootstrap(values, ~values).high


def test_seed_level_and_the_ends() -> None:
    values = np.sqrt(np.arange(50))
    assert bootstrap(values, seed=1) == bootstrap(values, seed=1)
    assert bootstrap(values, seed=1) != bootstrap(values, seed=2)
    wide, narrow = bootstrap(values, level=0.99), bootstrap(values, level=0.5)
    assert wide.low < narrow.low <= narrow.high < wide.high
    assert bootstrap([1, 1, 1]) == bootstrap([True] * 5)
    assert (bootstrap([1, 1, 1]).low, bootstrap([1, 1, 1]).high) == (1.0, 1.0)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="at least one"):
        bootstrap([])
    with pytest.raises(ValueError, match="paired values"):
        paired_bootstrap([1, 0], [1])
