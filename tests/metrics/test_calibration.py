"""Calibration error and coverage against definitions written out, and maps on predictors whose truth is known."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from mate_cli.metrics.calibration import answered, calibration_error, coverage_curve, log_loss, threshold_for
from mate_cli.metrics.confidence import MAPS, Confidence, Isotonic, Logistic, Temperature, read_map


def by_hand(probability, right):
    """Bin after bin, as the paper's equation has it."""
    total = 0.0
    for number in range(10):
        low, high = number / 10, (number + 1) / 10
        inside = [k for k, p in enumerate(probability) if low <= p < high or (number == 9 and p == 1)]
        if inside:
            accuracy = sum(right[k] for k in inside) / len(inside)
            confidence = sum(probability[k] for k in inside) / len(inside)
            total += len(inside) / len(probability) * abs(accuracy - confidence)
    return total


def test_the_calibration_error_is_that_of_its_definition():
    random = np.random.default_rng(0)
    for count in (1, 7, 500):
        sure, right = random.random(count), random.random(count) < 0.4
        assert calibration_error(sure, right) == pytest.approx(by_hand(sure, right), abs=1e-12)
    assert calibration_error([1.0, 0.0], [True, False]) == 0
    assert calibration_error([1.0, 1.0], [False, False]) == 1
    assert calibration_error([], []) == 0


def test_the_log_loss_is_that_of_its_definition():
    assert log_loss([0.8, 0.3], [True, False]) == pytest.approx(-(math.log(0.8) + math.log(0.7)) / 2)
    assert log_loss([0.0], [True]) == pytest.approx(-math.log(1e-6))


def test_the_threshold_is_the_least_that_leaves_the_wanted_accuracy():
    random = np.random.default_rng(1)
    for _ in range(20):
        sure = np.round(random.random(60), 1)  # many equal ones
        right = random.random(60) < sure
        accuracies = {t: right[sure >= t].mean() for t in sorted(set(sure.tolist())) if (sure >= t).sum() >= 5}
        expected = min((t for t, accuracy in accuracies.items() if accuracy >= 0.75), default=None)
        assert threshold_for(sure, right, 0.75, fewest=5) == expected
    assert threshold_for([0.9, 0.8], [False, False], 0.5, fewest=1) is None
    assert threshold_for([0.9, 0.8], [True, True], 0.5, fewest=3) is None


def test_the_curve_runs_from_the_surest_to_all():
    sure, right = np.linspace(0.99, 0.0, 100), np.arange(100) < 30
    points = coverage_curve(sure, right)
    assert [round(point.coverage, 2) for point in points] == [round(k / 20, 2) for k in range(1, 21)]
    for point in points:
        first = round(100 * point.coverage)
        assert point.accuracy == pytest.approx(right[:first].mean())
        assert answered(sure, right, point.threshold) == point
    assert [point.coverage for point in coverage_curve([0.5] * 10, [True] * 10)] == [1.0]
    assert coverage_curve([], []) == []
    assert answered([0.2], [True], 0.5).accuracy == 0


def said(cells, operators=None, names=None):
    operators = np.ones(len(cells)) if operators is None else operators
    names = ["NONE"] * len(cells) if names is None else names
    return [Confidence(float(c), 1, n, float(o)) for c, o, n in zip(cells, operators, names, strict=True)]


def test_a_predictor_with_logits_three_times_too_large_gets_the_temperature_3():
    random = np.random.default_rng(2)
    truth = random.uniform(0.02, 0.98, 20_000)
    logits = np.log(truth / (1 - truth))
    confidences = said(1 / (1 + np.exp(-3 * logits)))
    right = random.random(len(truth)) < truth
    fitted = Temperature.fit(confidences, right)
    assert fitted.temperature == pytest.approx(3, rel=0.05)
    before = calibration_error([c.probability for c in confidences], right)
    assert before > 0.1
    for kind in MAPS:
        sure = kind.fit(confidences, right).probabilities(confidences)
        assert calibration_error(sure, right) < 0.02
        assert np.abs(sure - truth).mean() < 0.02


def test_what_no_temperature_mends_the_other_maps_do():
    """Half of all answers are right whatever the model says, and it is very sure of all."""
    random = np.random.default_rng(3)
    confidences, right = said(random.uniform(0.8, 1, 4000)), random.random(4000) < 0.3
    sure = {kind.method: kind.fit(confidences, right).probabilities(confidences) for kind in MAPS}
    assert calibration_error(sure["temperature"], right) > 0.15
    assert calibration_error(sure["isotonic"], right) < 0.03
    assert calibration_error(sure["logistic"], right) < 0.03


def test_the_operator_has_a_constant_of_its_own():
    random = np.random.default_rng(4)
    names = random.choice(["NONE", "COUNT"], 4000)
    right = random.random(4000) < np.where(names == "COUNT", 0.2, 0.7)
    fitted = Logistic.fit(said(np.full(4000, 0.9), names=names), right)
    count, none, unknown = fitted.probabilities(said([0.9] * 3, names=["COUNT", "NONE", "SUM"]))
    assert (count, none) == (pytest.approx(0.2, abs=0.03), pytest.approx(0.7, abs=0.03))
    assert unknown == count  # an operator that was never seen is trusted as the least reliable one


def test_the_line_of_the_isotonic_map_is_that_of_scikit_learn():
    random = np.random.default_rng(5)
    sure, right = random.random(300), random.random(300) < 0.5
    reference = IsotonicRegression(y_min=0.01, y_max=0.99, out_of_bounds="clip").fit(sure, right)
    new = random.random(100)
    assert Isotonic.fit(said(sure), right).probabilities(said(new)) == pytest.approx(reference.predict(new))


def test_the_least_likely_part_is_the_probability_without_a_map():
    assert Confidence(0.7, 2, "SUM", 0.6).probability == 0.6
    assert Confidence(0.0, 0, "NONE", 1.0).probability == 0


@pytest.mark.parametrize("kind", MAPS)
def test_a_map_survives_json(kind):
    random = np.random.default_rng(6)
    confidences = said(random.random(200), random.random(200), random.choice(["NONE", "SUM"], 200))
    fitted = kind.fit(confidences, random.random(200) < 0.5)
    again = read_map(json.loads(json.dumps(fitted.plain())))
    assert again == fitted
    assert (again.probabilities(confidences) == fitted.probabilities(confidences)).all()


@pytest.mark.parametrize(
    "plain",
    [
        {"method": "magic"},
        {"method": "temperature"},
        {"method": "temperature", "temperature": "hot"},
        {"method": "temperature", "temperature": math.nan},
        {"method": "isotonic", "confidence": [0, 1], "probability": [0, 2]},
        {"method": "isotonic", "confidence": [0, 1], "probability": [0]},
        {"method": "logistic", "cell": 1, "operator": 1, "cells": 0, "operators": {}},
    ],
)
def test_what_is_no_map_is_refused(plain):
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_map(plain)
