"""How near ``auto`` comes to the fastest backend, on made-up times."""

from __future__ import annotations

from typing import Any

import pytest

from mate_cli.bench.auto import choices, summary

TIMES = {"mate": [1.1, 2.2, 1.1], "mate@native": [1.0, 2.0, 1.1], "mate@dense": [2.0, 4.0, 2.0], "limit": [0.5] * 3}


def records(times: dict[str, list[float]], length: int = 64, taken: str = "native") -> list[dict[str, Any]]:
    point = {"size": "base", "layers": 2, "layout": "grid", "length": length, "batch": 1, "mode": "forward"}
    return [
        {"model": model, **point, "dtype": "fp32", "device": "cpu", "backend": taken, "samples": samples}
        | {"seconds": {"median": sorted(samples)[len(samples) // 2]}}
        for model, samples in times.items()
    ]


def test_auto_is_compared_with_the_fastest_backend_round_by_round() -> None:
    (choice,) = choices(records(TIMES))
    assert (choice.taken, choice.fastest, choice.model) == ("native", "native", "mate")
    assert choice.ratio == choice.noise == pytest.approx(1.1)


def test_a_wrong_choice_shows_in_mean_and_worst() -> None:
    slow = {"mate": [3.0] * 3, "mate@native": [1.0] * 3, "mate@dense": [3.0] * 3}
    found = summary(records(TIMES) + records(slow, 128, "dense"))
    assert found is not None
    assert found["points"] == 2
    assert found["fastest_taken"] == 1
    assert found["mean"] == pytest.approx((1.1 + 3.0) / 2)
    assert found["worst"] == pytest.approx(3.0)
    assert found["worst_at"] == "base forward fp32, grid 1 x 128"
    assert (found["noise_mean"], found["noise_worst"]) == (pytest.approx(1.05), pytest.approx(1.1))
    assert found["state"] == "not met"


@pytest.mark.parametrize(("times", "state"), [([1.02] * 3, "met"), ([1.03] * 3, "not met")])
def test_the_mean_has_a_goal(times: list[float], state: str) -> None:
    found = summary(records({"mate": times, "mate@native": [1.0] * 3, "mate@dense": [2.0] * 3}))
    assert found is not None
    assert found["state"] == state


def test_one_bad_point_among_good_ones_misses_the_goal() -> None:
    good = [{"mate": [1.0] * 3, "mate@native": [1.0] * 3, "mate@dense": [2.0] * 3}] * 20
    bad = {"mate": [1.2] * 3, "mate@native": [1.0] * 3, "mate@dense": [2.0] * 3}
    found = summary([record for n, times in enumerate([*good, bad]) for record in records(times, 64 + n)])
    assert found is not None
    assert found["mean"] < 1.02
    assert found["state"] == "not met"


def test_a_backend_alone_or_one_that_was_left_out_is_no_comparison() -> None:
    alone = {"mate": [1.0] * 3, "mate@native": [1.0] * 3, "limit": [1.0] * 3}
    assert summary(records(alone)) is None
    left_out = {"model": "mate@dense", "left_out": {"speed": "too slow"}}
    assert summary([*records(alone), left_out]) is None
