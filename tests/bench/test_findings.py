"""Exponents, break-even lengths and goals on made-up measurements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mate_cli.bench.findings import break_even, exponent, exponent_interval, findings
from mate_cli.bench.goals import GOALS, judged
from mate_cli.reporting.bench import goal_lines

LENGTHS = [1024, 2048, 4096, 8192, 16384]


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 2.0])
def test_the_exponent_of_a_power_is_found(power: float) -> None:
    assert exponent(LENGTHS, [3e-6 * length**power for length in LENGTHS]) == pytest.approx(power)


def test_the_exponent_of_linear_and_quadratic_parts_lies_between() -> None:
    found = exponent(LENGTHS, [1e-3 * length + 1e-6 * length**2 for length in LENGTHS])
    assert found is not None
    assert 1.5 < found < 1.9


def test_too_few_lengths_or_values_without_a_logarithm_have_no_exponent() -> None:
    assert exponent([1024, 2048], [1.0, 2.0]) is None
    assert exponent([1024, 2048, 4096], [1.0, 0.0, 2.0]) is None


@pytest.mark.parametrize(
    ("speedups", "length"),
    [
        ([1.1, 1.5, 2.0], 1024),
        ([0.5, 2.0, 4.0], 1448.2),
        ([2.0, 0.5, 2.0], 2896.3),  # from where on it stays above
        ([0.1, 0.5, 0.9], None),
        ([2.0, 2.0, 1.0], None),
    ],
)
def test_the_break_even_length_is_where_the_speedup_passes_one(speedups: list[float], length: float | None) -> None:
    found = break_even([1024, 2048, 4096], speedups)
    assert found == (length if length is None else pytest.approx(length, rel=1e-4))


def record(model: str, length: int, above: float, **facts: Any) -> dict[str, Any]:
    point = {"size": "base", "layers": 2, "layout": "grid", "length": length, "batch": 1, "mode": "forward"}
    plain = {**point, "dtype": "fp32", "device": "cpu", "seed": 0, "left_out": {}}
    return {"model": model, **plain, "seconds_above_limit": {"median": above}, **facts}


def test_findings_are_fitted_from_2048_on() -> None:
    records = [record("mate", length, 1e-6 * length**1.3, peak_bytes=1000 * length) for length in LENGTHS[1:]]
    records.append(record("mate", 256, 5.0, peak_bytes=10**9))
    (found,) = findings(records)
    assert found["model"] == "mate"
    assert found["series"] == ["base", "grid", 1, "forward", "fp32"]
    assert found["exponents"] == pytest.approx({"time": None, "time above limit": 1.3, "FLOPs": None, "memory": 1.0})
    assert found["intervals"] == {"time": None, "time above limit": None}  # no rounds
    assert found["break_even"] == {}


def test_exponents_have_intervals_over_the_rounds() -> None:
    """Of 300 benches with a known exponent and noise of 10% a round, about 95% have it in their interval."""
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        rounds = [3e-6 * length**1.2 * random.lognormal(0, 0.1, 11) for length in LENGTHS[1:]]
        interval = exponent_interval(LENGTHS[1:], rounds)
        assert interval is not None
        covered += interval[0] <= 1.2 <= interval[1]
    assert covered / 300 == pytest.approx(0.95, abs=0.04)
    assert exponent_interval(LENGTHS[:2], rounds[:2]) is None
    assert exponent_interval(LENGTHS[1:], [rounds[0] - rounds[0].mean(), *rounds[1:]]) is None


def test_time_above_the_limit_is_taken_round_by_round() -> None:
    """A machine that is slower in one round is slower for both; their difference does not move."""
    slow = [0.0, 5.0, 0.0, 9.0, 0.0]
    records = [
        record(model, length, length / 1000, samples=[base + length / 1000 * (model == "mate") for base in slow])
        for model in ("limit", "mate")
        for length in LENGTHS[1:]
    ]
    mate = next(found for found in findings(records) if found["model"] == "mate")
    assert mate["intervals"]["time above limit"] == pytest.approx([1.0, 1.0])


def test_findings_name_the_break_even_length_with_each_reference() -> None:
    records = [
        record("mate", length, 1.0, speedup={"dense_sdpa": {"median": length / 1500}}) for length in (1024, 2048, 4096)
    ]
    (found,) = findings(records)
    assert found["break_even"] == {"dense_sdpa": {"length": pytest.approx(1500, rel=0.01), "from": 1024, "to": 4096}}


def states(records: list[dict[str, Any]], value: str, model: str = "mate") -> list[str]:
    goals = [goal for goal in judged(records, 2) if (goal["value"], goal["model"]) == (value, model)]
    return [goal["state"] for goal in goals if goal["series"] == ["base", "grid", 1, "forward", "fp32"]]


def test_without_measurements_no_goal_is_judged() -> None:
    assert {goal["state"] for goal in judged([], 2)} == {"not measured"}
    assert len(judged([], 2)) == len(GOALS) == 29


def test_a_goal_is_met_or_not() -> None:
    value = "time / limit"
    fast, slow = (record("mate", 2048, 0.1, time_over_limit={"median": ratio}) for ratio in (1.05, 1.3))
    assert states([fast], value) == ["met", "not measured"]
    assert states([slow], value) == ["not met", "not measured"]


@pytest.mark.parametrize(("device", "threads"), [("cuda", 2), ("cpu", 1), ("cpu", 8)])
def test_goals_for_two_threads_of_a_cpu_are_not_measured_elsewhere(device: str, threads: int) -> None:
    slow = {**record("mate", 2048, 0.1, time_over_limit={"median": 1.3}), "device": device}
    assert {goal["state"] for goal in judged([slow], threads)} == {"not measured"}


def test_goals_are_told_with_what_was_found_and_wanted() -> None:
    speedup = {"hf_tapas": {"median": 3.04}}
    goals = judged([record("mate", 2048, 0.1, time_over_limit={"median": 1.3}, speedup=speedup)], 2)
    assert list(goal_lines(goals)) == [
        "- not met: mate, time / limit, base, forward, fp32, grid, batch 1 at 2048: 1.3 (at most 1.07)",
        "- met: mate, times as fast as hf_tapas, base, forward, fp32, grid, batch 1 at 2048: 3.04 (at least 2.7)",
        "- not measured: 27 of 29 goals (on a CPU with threads=2, suite=acceptance and suite=training of mate bench "
        "measure all)",
    ]


def test_a_goal_over_another_model_or_series_divides_by_it() -> None:
    question = {"layout": "column", "question": 190, "mode": "training"}
    records = [
        record("mate", 1024, 0.1, **question, seconds={"median": 0.3}, peak_bytes=90),
        record("mate@dense", 1024, 0.1, **question, seconds={"median": 0.2}),
        record("mate", 2048, 0.1, mode="training", time_over_limit={"median": 1.05}),
        record("mate", 2048, 0.1, mode="training", dropout=0.1, time_over_limit={"median": 1.155}),
    ]
    lines = [line for line in goal_lines(judged(records, 2)) if "that of" in line]
    assert lines == [
        "- not met: mate, time / that of mate@dense, base, training, fp32, column_question_190, "
        "batch 1 at 1024: 1.5 (at most 1.2)",
        "- met: mate, time / limit / that of (base, training, fp32, grid, batch 1), base, "
        "training_dropout_0.1, fp32, grid, batch 1 at 2048: 1.1 (at most 1.15)",
    ]


def test_a_goal_over_lengths_needs_all_of_them_and_takes_the_worst() -> None:
    peaks = [record("mate", length, 0.1, peak_over_limit=1.1) for length in LENGTHS]
    assert states(peaks, "memory / limit") == ["met"]
    assert states(peaks[:-1], "memory / limit") == ["not measured"]
    peaks[2]["peak_over_limit"] = 1.2
    assert states(peaks, "memory / limit") == ["not met"]


def test_a_goal_of_an_exponent_is_judged_by_the_fit() -> None:
    value = "exponent of time above limit"
    records = [record("mate", length, length**1.3) for length in LENGTHS]
    records += [record("dense_sdpa", length, length**2.3) for length in LENGTHS]
    assert states(records, value) == ["met"]
    assert states(records, value, "dense_sdpa") == ["not met"]
    assert states(records, value, "mate_bucketed") == ["not measured"]
