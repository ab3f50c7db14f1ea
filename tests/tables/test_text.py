from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.text import (
    EMPTY,
    convert_to_float,
    format_text,
    is_empty,
    normalize_for_match,
    words_and_marks,
    wtq_normalize,
    wtq_official_form,
)


@pytest.mark.parametrize("text", ["", "  ", "-", "…", "_ _", "N/A", " n/a ", "?"])
def test_texts_that_say_nothing(text: str) -> None:
    assert is_empty(text)
    assert format_text(text) == EMPTY


@pytest.mark.parametrize(
    ("text", "expected"), [("Côte_d'Ivoire", "côte d ivoire"), (" 3:15, A.M. ", "3 15 a m"), ("№ 7", "7")]
)
def test_words_alone(text: str, expected: str) -> None:
    assert format_text(text) == expected


@given(st.text())
def test_a_text_says_nothing_or_has_words_with_one_space_between(text: str) -> None:
    formatted = format_text(text)
    assert (formatted == EMPTY) == is_empty(text)
    assert formatted == " ".join(formatted.split())
    assert not set(formatted) & set("_-.,/\t\n")


def test_blanks_and_case_do_not_matter_in_a_match() -> None:
    assert normalize_for_match("\tFrom  1999\u00a0To\n2004 ") == "from 1999 to 2004"


def test_words_and_marks() -> None:
    assert words_and_marks("U.S.A.(52%) -- Élan") == ["u", ".", "s", ".", "a", ".(", "52", "%)", "--", "élan"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zürich (city) [3]*", "zurich"),
        ('"Über  Alles" (song)†', "uber alles"),
        ("[4] [note 2]", ""),
        ("[4]", ""),
        ("(living)", "(living)"),
        ("“It’s” 4–3", '"it\'s" 4-3'),
        ("Mt. Fuji.", "mt. fuji"),
        ("a<br />b", "ab"),
        ("C#", "c"),
    ],
)
def test_wikipedias_additions_go(text: str, expected: str) -> None:
    assert wtq_normalize(text) == expected


def test_footnotes_without_end_take_no_time() -> None:
    assert wtq_normalize("x" + "[1]" * 200 + "y").endswith("[1]y")


@given(st.text(alphabet="ab[]()1 \"*#.'<>"))
def test_a_normal_form_shrinks(text: str) -> None:
    assert len(wtq_normalize(text)) <= len(text)
    assert wtq_normalize(text.upper()) == wtq_normalize(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", 42),
        ("1,234.5", 1234.5),
        ("1,234", 1234),
        ("12,50", 12.5),
        ("100,00", 10000),
        ("1,2,3", 123),
        ("1.234.567", 1234567),
        (" -.5 ", -0.5),
        ("2e3", 2000),
    ],
)
def test_numbers(text: str, number: float) -> None:
    assert convert_to_float(text) == number


@pytest.mark.parametrize("text", ["", "a", "4%", "$3", "1.2.3,4", "12:30", "-"])
def test_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        convert_to_float(text)


# The marks as one expression, which says plainly what goes, and takes minutes for 100 kB of "[a]".
_FOOTNOTES = re.compile(r"(?:(?<!^)\[[^]]*\]|^\[\d+\]|[•♦†‡*#+])+$")
_REMARKS = re.compile(r"(?<!^)(?: \([^)]*\))+$")


@given(st.text("[]()*† 1ab", max_size=16))
def test_what_wikipedia_adds_goes_from_the_end(text: str) -> None:
    """In letters that no other rule touches, against the expressions applied until nothing goes."""
    expected = text
    while (shorter := _REMARKS.sub("", _FOOTNOTES.sub("", expected.strip()).strip()).strip()) != expected:
        expected = shorter
    assert wtq_official_form(text) == " ".join(expected.split())


def test_long_texts_take_no_longer_than_their_length_asks() -> None:
    started = time.process_time()
    for unit in ("[a]", " (a)", "[", "[a] ", "*"):
        wtq_official_form("x" + unit * 10_000 + "x")
        wtq_official_form("x" + unit * 10_000)
    assert time.process_time() - started < 2
