"""EM and F1 against their definitions, spelt out with other means."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.metrics.hybridqa import answer_scores, exact_match, f1, normalise_answer
from mate_cli.tables.hybridqa import Gold

WORDS = st.lists(st.sampled_from(["red", "Red", "blue", "green,", "the", "A", "1", "10-15", "U.S."]), max_size=6)
TEXT = st.one_of(WORDS.map(" ".join), st.text(max_size=12))


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("10-15", "1015"),
        ("10 - 15", "10 15"),
        ("The  Theatre, an\tannex", "theatre annex"),
        ("U.S.", "us"),
        ("a–b", "–b"),  # a dash beyond ASCII stays, and parts words
        ("Café", "café"),
        ("The", ""),
        ("", ""),
    ],
)
def test_normalisation(text: str, normal: str) -> None:
    assert normalise_answer(text) == normal


@given(TEXT)
def test_normalisation_is_done_after_once(text: str) -> None:
    once = normalise_answer(text)
    assert normalise_answer(once) == once


@given(TEXT, TEXT)
def test_bounds_symmetry_and_agreement(one: str, other: str) -> None:
    assert 0 <= f1(one, [other]) <= 1
    assert f1(one, [other]) == pytest.approx(f1(other, [one]))
    assert exact_match(one, [other]) == exact_match(other, [one])
    assert exact_match(one, [one]) == f1(one, [one]) == 1
    if exact_match(one, [other]):
        assert f1(one, [other]) == 1


@given(TEXT, TEXT)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(prediction: str, gold: str) -> None:
    words, wanted = normalise_answer(prediction).split(), normalise_answer(gold).split()
    if not words or not wanted:
        assert f1(prediction, [gold]) == (not words and not wanted)
        return
    left, shared = list(wanted), 0
    for word in words:
        if word in left:
            left.remove(word)
            shared += 1
    precision, recall = Fraction(shared, len(words)), Fraction(shared, len(wanted))
    expected = 2 * precision * recall / (precision + recall) if shared else Fraction(0)
    assert f1(prediction, [gold]) == pytest.approx(float(expected))


def test_the_best_of_several_golds_counts() -> None:
    assert exact_match("Oslo", ["Bergen", "oslo"]) == 1
    assert f1("Oslo harbour", ["Bergen", "oslo"]) == pytest.approx(2 / 3)


def test_groups_and_what_counts_in_the_total_alone() -> None:
    gold = {
        "a": Gold(("x",), "table"),
        "b": Gold(("y",), "passage"),
        "c": Gold(("z",), "passage"),
        "d": Gold(("u",), "missing"),
        "blind": Gold(None),
    }
    scores = answer_scores(gold, {"a": "x", "b": "y y", "c": "", "d": "u", "other": "x"})
    assert list(scores) == ["In-Table", "In-Passage", "Total"]
    assert scores["In-Table"].exact.tolist() == [1]
    assert scores["In-Passage"].f1.tolist() == pytest.approx([2 / 3, 0])
    assert scores["Total"].exact.tolist() == [1, 0, 0, 1]


def test_a_question_without_a_prediction_is_an_error_as_it_is_officially() -> None:
    with pytest.raises(KeyError, match="b"):
        answer_scores({"a": Gold(("x",)), "b": Gold(("y",))}, {"a": "x"})
