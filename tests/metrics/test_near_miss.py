"""The classes of wrong answers: examples of each, and numbers spelt by another rule than they are read by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.metrics.hybridqa import f1
from mate_cli.metrics.near_miss import MISSES, NEAR, canonical, classify

SPELT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen - - twenty thirty forty fifty sixty seventy eighty ninety"
)
SMALL, TENS = SPELT.split()[:20], SPELT.split()[20:]


def spelt(number: int, link: str) -> str:
    """A number in English words, from the largest scale down."""
    for scale, word in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= scale:
            rest = f"{link if number % scale < 100 else ' '}{spelt(number % scale, link)}" if number % scale else ""
            return f"{spelt(number // scale, link)} {word}{rest}"
    if number < 20:
        return SMALL[number]
    return TENS[number // 10] + (f"-{SMALL[number % 10]}" if number % 10 else "")


@given(st.integers(0, 10**11), st.sampled_from([" ", " and "]))
def test_numbers_in_words_are_read(number: int, link: str) -> None:
    assert canonical(spelt(number, link)) == [str(number)]
    assert canonical(spelt(number, link).title()) == canonical(f"{number:,}") == [str(number)]


@pytest.mark.parametrize(
    ("number", "ordinal"),
    [(1, "first"), (2, "second"), (12, "twelfth"), (20, "twentieth"), (21, "twenty-first"), (100, "one hundredth")],
)
def test_ordinals_are_read(number: int, ordinal: str) -> None:
    assert canonical(ordinal) == canonical(f"{number}th") == [str(number)]


@pytest.mark.parametrize(
    ("prediction", "gold", "miss"),
    [
        ("3", "three", "numeric_form"),
        ("1,000", "1000", "numeric_form"),
        ("Second", "2nd", "numeric_form"),
        ("1.50", "1.5", "numeric_form"),
        ("3.5 million", "3,500,000", "numeric_form"),
        ("12 May 2004", "May 12, 2004", "numeric_form"),
        ("2004-05-12", "12 May 2004", "numeric_form"),
        ("3 goals", "three goals", "numeric_form"),
        ("twenty one", "twenty-first", "numeric_form"),
        ("1–0", "1-0", "punctuation"),
        ("São Paulo", "Sao Paulo", "punctuation"),
        ("second round", "second", "extra_words"),  # the paper's own example
        ("Arctic climate", "Arctic", "extra_words"),  # and the other one
        ("Three Kings Day", "three kings", "extra_words"),
        ("1998", "March 1998", "missing_words"),
        ("Lee", "Ann Lee", "missing_words"),
        ("Lee , Ann", "Ann Lee Moe", "overlap"),
        ("one and two", "3", "other"),
        ("12 May 2004", "5 December 2004", "overlap"),
        ("Thomas Cup", "Badminton", "other"),
        ("", "Badminton", "other"),
        ("art", "arts", "other"),
    ],
)
def test_classes(prediction: str, gold: str, miss: str) -> None:
    assert classify(prediction, [gold], f1(prediction, [gold])) == miss
    mirrored = {"extra_words": "missing_words", "missing_words": "extra_words"}.get(miss, miss)
    assert classify(gold, [prediction], f1(gold, [prediction])) == mirrored


def test_the_nearest_of_several_golds_counts() -> None:
    assert classify("3", ["Ann", "three wins", "three"], 0.0) == "numeric_form"


@given(st.text(max_size=20), st.lists(st.text(max_size=20), min_size=1, max_size=3))
def test_every_text_has_a_class(prediction: str, golds: list[str]) -> None:
    assert classify(prediction, golds, f1(prediction, golds)) in MISSES
    assert set(NEAR) < set(MISSES)
