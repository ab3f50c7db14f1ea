"""Every shipped suite: it composes, its models exist, and the goals lie among its points."""

from __future__ import annotations

from typing import Any

import pytest
from hydra import compose, initialize_config_dir

from mate_cli.bench.findings import Series
from mate_cli.bench.goals import GOALS, Goal
from mate_cli.bench.point import Measures, Point, suite_points
from mate_cli.bench.run import with_names
from mate_cli.cli.diagnosis import register_schemas, typed
from mate_cli.config.bench import BenchConfig
from mate_cli.config.catalogue import options
from mate_cli.config.paths import conf_folder
from mate_cli.config.rules import problems

SUITES = [option.name for option in options("suite")]


def suite(name: str) -> BenchConfig:
    register_schemas()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        composed = typed(compose("bench", [f"suite={name}"]))
    assert isinstance(composed, BenchConfig)
    return composed


def test_all_suites_are_tested_below() -> None:
    assert SUITES == ["acceptance", "backends", "full", "gpu", "paper", "quick", "shapes", "training"]


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_has_points_and_models_that_exist(name: str) -> None:
    composed = suite(name)
    assert composed.suite.name == name
    assert problems(composed) == []
    wanted = with_names(suite_points(composed, "cpu"))
    assert len(wanted) > 3
    for measures in wanted.values():
        assert all("limit" in models and "mate" in models for models in measures.values())


@pytest.mark.parametrize("option", options("suite"), ids=str)
def test_every_suite_starts_with_a_line_that_says_what_it_costs(option: Any) -> None:
    assert option.line.endswith(".")
    assert any(word in option.line for word in ("minutes", "hour"))


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_a_suite_measures_what_each_goal_is_about(goal: Any) -> None:
    """With what its value is divided by, in the same bench."""
    parts = [(goal.series, goal.model), *([goal.over] if goal.over else [])]
    suites = [suite_points(suite(name), "cpu") for name in ("acceptance", "training")]
    assert any(all(measures_curve(wanted, goal, *part) for part in parts) for wanted in suites)


def measures_curve(wanted: dict[Point, Measures], goal: Goal, series: Series, model: str) -> bool:
    points = [point for point in wanted if point.series == series]
    measure = next(
        name for word, name in (("memory", "memory"), ("FLOPs", "flops"), ("", "speed")) if word in goal.value
    )
    lengths = {point.length for point in points if model in wanted[point].get(measure, [])}
    return lengths >= set(goal.lengths or (2048, 4096, 8192, 16384))
