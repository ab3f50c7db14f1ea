"""How near ``auto`` comes to the fastest backend, on made-up times."""

from __future__ import annotations

from typing import Any

import pytest

from mate_cli.bench.auto import summary

NATIVE = {"mate": [1.1, 2.2, 1.1], "mate@native": [1.0, 2.0, 1.1], "mate@dense": [2.0, 4.0, 2.0]}
GOOD = {"mate": [1.0] * 3, "mate@native": [1.0] * 3, "mate@dense": [2.0] * 3}


def records(times: dict[str, list[float]], length: int = 64, taken: str = "native") -> list[dict[str, Any]]:
    point = {"size": "base", "layers": 2, "layout": "grid", "length": length, "batch": 1, "mode": "forward"}
    return [
        {"model": model, **point, "dtype": "fp32", "device": "cpu", "backend": taken, "samples": samples}
        | {"seconds": {"median": sorted(samples)[len(samples) // 2]}}
        for model, samples in times.items()
    ]


def found(records: list[dict[str, Any]], rule: str = "auto") -> dict[str, Any]:
    judged = summary(records)
    assert judged is not None
    return dict(judged[rule])


def test_auto_is_compared_with_the_fastest_backend_round_by_round() -> None:
    one = found(records(NATIVE | {"limit": [0.5] * 3}))
    assert (one["points"], one["fastest_taken"]) == (1, 1)
    assert one["mean"] == one["worst"] == pytest.approx(1.1)
    assert found(records(NATIVE), "clock")["worst"] == pytest.approx(1.1)


def test_a_wrong_choice_shows_in_mean_and_worst() -> None:
    slow = {"mate": [3.0] * 3, "mate@native": [1.0] * 3, "mate@dense": [3.0] * 3}
    two = found(records(NATIVE) + records(slow, 128, "dense"))
    assert (two["points"], two["fastest_taken"], two["state"]) == (2, 1, "not met")
    assert two["mean"] == pytest.approx((1.1 + 3.0) / 2)
    assert two["worst"] == pytest.approx(3.0)
    assert two["worst_at"] == "base forward fp32, grid 1 x 128 (dense, where native was faster)"


@pytest.mark.parametrize(("time", "state"), [(1.02, "met"), (1.03, "not met")])
def test_the_mean_has_a_goal(time: float, state: str) -> None:
    assert found(records(GOOD | {"mate": [time] * 3}))["state"] == state


def test_one_bad_point_among_good_ones_misses_the_goal() -> None:
    bad = GOOD | {"mate": [1.2] * 3}
    many = found([record for number, times in enumerate([GOOD] * 20 + [bad]) for record in records(times, 64 + number)])
    assert many["mean"] < 1.02
    assert many["state"] == "not met"


@pytest.mark.parametrize(("length", "taken"), [(64, "dense"), (4096, "ragged")])
def test_without_a_compiler_the_rule_takes_one_of_the_rest(length: int, taken: str) -> None:
    """Short tables take ``dense`` and long ones ``ragged``, and each is judged by its own time."""
    times = {"mate": [1.0] * 3, "mate@native": [1.0] * 3, "mate@dense": [2.0] * 3, "mate@ragged": [3.0] * 3}
    expected = {"dense": 1.0, "ragged": 1.5}[taken]
    assert found(records(times, length), "without_native")["mean"] == pytest.approx(expected)


def test_a_backend_alone_or_one_that_was_left_out_is_no_comparison() -> None:
    alone = {"mate": [1.0] * 3, "mate@native": [1.0] * 3, "limit": [1.0] * 3}
    assert summary(records(alone)) is None
    left_out = {"model": "mate@dense", "left_out": {"speed": "too slow"}}
    assert summary([*records(alone), left_out]) is None
