"""The joint score against brute force, and the weight against an exhaustive look."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.tasks.pointr import WEIGHTS, ReadCell, choose, fit_weight

PROBABILITY = st.sampled_from([0.0, 1e-30, 0.05, 0.1, 0.3, 0.5, 0.9, 1.0])
CELLS = st.lists(
    st.builds(
        ReadCell,
        row=st.integers(0, 3),
        column=st.integers(0, 3),
        probability=PROBABILITY,
        text=st.just("cell"),
        span=st.sampled_from(["red", "the red", "blue", "red blue", ""]),
        start=st.just(0),
        end=st.just(0),
        span_probability=PROBABILITY,
    ),
    max_size=5,
)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


@given(CELLS, st.sampled_from([0.1, 0.5, 1.0, 1.7, 2.0]))
def test_the_choice_maximises_the_sum_of_logarithms(cells: list[ReadCell], weight: float) -> None:
    sums = [_log(cell.probability) + weight * _log(cell.span_probability) for cell in cells]
    place = choose(cells, weight)
    if not cells:
        assert place is None
        return
    assert place is not None
    assert sums[place] == pytest.approx(max(sums))
    assert place == next(i for i, cell in enumerate(cells) if cell.joint(weight) == cells[place].joint(weight))


@given(CELLS)
def test_at_weight_0_the_selector_decides(cells: list[ReadCell]) -> None:
    ranked = sorted(cells, key=lambda cell: -cell.probability)
    assert choose(ranked, 0.0) == (0 if cells else None)


def test_the_joint_score_is_the_product_at_weight_1() -> None:
    cell = ReadCell(0, 0, 0.5, "cell", "span", 0, 4, 0.3)
    assert cell.joint(1.0) == pytest.approx(0.15)
    assert cell.joint(2.0) == pytest.approx(0.5 * 0.09)


@settings(max_examples=30)
@given(st.lists(CELLS, min_size=1, max_size=6))
def test_no_weight_answers_more_than_the_fitted_one(questions: list[list[ReadCell]]) -> None:
    fit = fit_weight(questions, [["red"]] * len(questions))
    assert list(fit.exact) == list(WEIGHTS)
    for weight in WEIGHTS:
        answers = [own[place].span for own in questions if (place := choose(own, weight)) is not None]
        share = sum(answer in ("red", "the red") for answer in answers) / len(questions)
        assert fit.exact[weight] == pytest.approx(share)
        assert share <= fit.exact[fit.weight]


def test_a_weight_that_matters_is_found() -> None:
    def cell(probability: float, span: str, span_probability: float) -> ReadCell:
        return ReadCell(0, 0, probability, "", span, 0, 0, span_probability)

    # The right span wins only where 0.6 * 0.3^w < 0.4 * 0.6^w and 0.8 * 0.4^w > 0.2 * 0.9^w: 0.585 < w < 1.71.
    questions = [
        [cell(0.6, "blue", 0.3), cell(0.4, "red", 0.6)],
        [cell(0.8, "red", 0.4), cell(0.2, "blue", 0.9)],
    ]
    fit = fit_weight(questions, [["red"], ["red"]])
    assert fit.weight == 1.0
    assert [weight for weight, share in fit.exact.items() if share == 1] == pytest.approx(
        [n / 10 for n in range(6, 18)]
    )


def test_where_nothing_matters_the_plain_product_is_taken() -> None:
    assert fit_weight([[]], [["red"]]).weight == 1.0
    with pytest.raises(ValueError, match="no question"):
        fit_weight([], [])
