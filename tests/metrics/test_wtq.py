"""WikiTableQuestions' values: what a text is, which values match, and what the evaluator makes of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.metrics.wtq import denotes, gold_values, tagged_values, value_of, values_of, verdicts
from mate_cli.tables.table import Example, Table

TEXTS = st.one_of(
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(str),
    st.dates().map(str),
    st.sampled_from(["xx-05-17", "1990-xx-xx", "9" * 400, "9" * 5000, "1_000", "-", "a--", " 7 ", "[1]", '""', "²"]),
)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("12", 12),
        (" 12.0 ", 12),
        ("1e3", 1000),
        ("2.5", 2.5),
        ("1,200", None),  # digit groups are for the canonical form to say
        ("1_200", None),
        ("nan", None),
        ("inf", None),
        ("2.9999999", 2),  # cut, as the official evaluator has it
        ("3.0000001", 3),
        ("12345678901234567890", 12345678901234567890),
        ("2005-08-27", (2005, 8, 27)),
        ("xx-10-17", (-1, 10, 17)),
        ("XXXX-10-xx", (-1, 10, -1)),
        ("1990-xx-xx", 1990),
        ("xx-xx-xx", None),
        ("2005-13-01", None),
        ("2005-12-32", None),
        ("2005-12", None),
        ("ten", None),
    ],
)
def test_what_a_text_is(text, meaning):
    assert value_of(text).meaning == meaning


def test_a_canonical_form_says_what_the_text_is():
    value = value_of("Aug. 27, 2005", "2005-08-27")
    assert (value.text, value.meaning) == ("aug. 27, 2005", (2005, 8, 27))
    assert value.matches(value_of("2005-8-27"))
    assert value.matches(value_of("Aug. 27, 2005"))
    assert not value.matches(value_of("August 27, 2005"))
    assert value_of("17 years", "17.0").matches(value_of("17"))


@pytest.mark.parametrize(
    ("text", "same"),
    [("Straße [3]", "straße"), ("“Café” (Paris)*", "cafe"), ("a–b", "A-B"), ("U.S.", "u.s"), ("x   y", "X Y")],
)
def test_texts_match_in_their_normal_form(text, same):
    assert value_of(text).matches(value_of(same))


def test_answers_are_sets_of_values():
    assert len(values_of(["5", "5.0", "five", "Five"])) == 2
    assert denotes(values_of(["b", "a", "b"]), values_of(["a", "b"]))
    assert not denotes(values_of(["a", "b", "c"]), values_of(["a", "b"]))
    assert not denotes(values_of(["a"]), values_of(["a", "b"]))
    assert denotes([], [])
    assert not denotes([], values_of([""]))
    # As many as wanted, and each gold one is matched: that two of them match the same one is not looked at.
    twice = tagged_values((("1", "5"), ("1", "6")))
    assert denotes(values_of(["1", "2"]), twice)


@given(TEXTS)
def test_no_text_breaks_it_and_each_matches_itself(text):
    assert value_of(text).matches(value_of(text))
    assert denotes(values_of([text]), values_of([text, text]))


@given(TEXTS, TEXTS)
def test_matching_is_symmetric(first, second):
    assert value_of(first).matches(value_of(second)) == value_of(second).matches(value_of(first))


def test_gold_values_come_from_the_tags_or_else_from_the_answers():
    table = Table("t", (), ())
    examples = [Example("a", "", table, ("1,200",)), Example("b", "", table, ("1,200",)), Example("c", "", table)]
    gold = gold_values(examples, {"a": (("1,200", "1200.0"),)})
    assert gold.keys() == {"a", "b"}
    assert verdicts(gold, {"a": ["1200"], "b": ["1200"]}) == {"a": True, "b": True}
    assert verdicts(gold, {"b": ["1,200"]}) == {"a": False, "b": True}


@pytest.mark.parametrize(
    ("text", "answer", "right"),
    [
        ("1,234,567.5", "1234567.5", True),
        ("-1,200", "-1200", True),
        ("1,200", "1.2", False),
        ("1200", "1,200", False),  # what is answered is read as the official evaluator reads it
        ("1,20", "120", False),
        ("1,2000", "12000", False),
        ("1,200 km", "1200", False),
        ("0,001,", "1", False),
    ],
)
def test_untagged_numbers_in_groups_of_digits(text, answer, right):
    gold = gold_values([Example("a", "", Table("t", (), ()), (text,))], {})
    assert verdicts(gold, {"a": [answer]}) == {"a": right}
