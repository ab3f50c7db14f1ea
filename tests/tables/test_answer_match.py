"""Answer matching against a plain search over words, and on the cases where the two tell apart."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mate_cli.tables.answer_match import AnswerFinder, AnswerMatch, normalise
from mate_cli.tables.table import Cell, Table

_TEXT = st.text(st.sampled_from("aAbBtThe1 9.-,–é€Σσς'\n\u00a0"), max_size=14)


def _table(*rows: list[Cell]) -> Table:
    return Table("t", tuple(Cell("h") for _ in rows[0]), tuple(tuple(row) for row in rows))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  U.S. 's Café", "u s s café"),
        ("1:10.223", "1 10 223"),
        ("An a THE the-end", "end"),
        ("10–15", "10–15"),
        ("...", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("answer", "text", "holds"),
    [
        ("1 10", "1:10.223", True),
        ("10", "100 metres", False),
        ("new york", "The New-York Times", True),
        ("York", "Yorkshire", False),
        ("€ 5", "costs € 5 each", True),
        ("Café", "caf\u00e9 paris", True),
        ("end the war", "end war", True),
    ],
)
def test_whole_words_in_cells_and_passages_alike(answer: str, text: str, holds: bool) -> None:
    table = _table([Cell("nothing"), Cell(text)], [Cell("", ("/wiki/x",)), Cell("other")])
    match = AnswerFinder(table, {"/wiki/x": text}).find(answer)
    assert match == (AnswerMatch(((0, 1),), ((1, 0),)) if holds else AnswerMatch())


@settings(max_examples=400)
@given(answer=_TEXT, cell=_TEXT, passage=_TEXT)
@example(answer="ΑΣ", cell="ΑΣ.Α ΑΣ", passage="Σ'Α")
def test_the_cheap_tests_lose_nothing(answer: str, cell: str, passage: str) -> None:
    words = _words(answer)
    if not words:
        return
    # The release's expression, searched for everywhere.
    pattern = re.compile(rf"(?:\b|\s)({re.escape(' '.join(words))})(?:\s|\b)")
    match = AnswerFinder(_table([Cell(cell), Cell("", ("l",))]), {"l": passage}).find(answer)
    assert match.in_text == (((0, 0),) if pattern.search(" ".join(_words(cell))) else ())
    assert match.in_passage == (((0, 1),) if pattern.search(" ".join(_words(passage))) else ())


def _words(text: str) -> list[str]:
    spaced = "".join(" " if sign in string.punctuation else sign for sign in text)
    return [word for word in spaced.lower().split() if word not in ("a", "an", "the")]


def test_an_answer_of_nothing_but_articles_matches_only_cells_that_read_so() -> None:
    table = _table([Cell("A"), Cell("B", ("l",))], [Cell("The"), Cell("")], [Cell(" a "), Cell("-")])
    finder = AnswerFinder(table, {"l": "a the -"})
    assert finder.find("A").candidates == ((0, 0), (2, 0))
    assert finder.find("-").candidates == ((2, 1),)
    assert finder.find(" ").candidates == ()
