"""Counterfactual statements: what is exchanged for what, and what is left alone."""

from __future__ import annotations

import re
from itertools import chain, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.tables.statements.counterfactual import counterfactuals
from mate_cli.tables.statements.references import Kind, references_of
from mate_cli.tables.table import Cell, Table


def linked(*texts):
    return tuple(Cell(text, (f"/wiki/{text}",)) for text in texts)


def plain(*texts):
    return tuple(Cell(text) for text in texts)


CUPS = Table(
    "cups",
    plain("Team", "City", "Founded", "Cups", "Place"),
    (
        (*linked("Red Lions", "Leeds"), *plain("12 May 1901", "5", "1st")),
        (*linked("Lions", "York"), *plain("3 June 1920", "7", "2nd")),
        (*linked("Jets", "York"), *plain("1935", "1,250", "3rd")),
        (*linked("Ox", "Bath"), *plain("1935", "1", "4th")),
    ),
)


def twins(text, table=CUPS):
    return counterfactuals(table, [text], Random(0))


def test_a_value_is_exchanged_for_another_of_its_column():
    found = twins("In the end the Jets of York won it all .")
    assert {own.sentence for own in found} == {"In the end the Jets of York won it all ."}
    by_focus = {own.focus: own for own in found}
    # York is the city of the Lions too, whom the sentence does not mention
    assert set(by_focus) == {(2, 0), (2, 1)}
    assert by_focus[2, 0].negative == "Red Lions"  # not Lions, who are of York too; a name like Ox is too short
    assert by_focus[2, 0].twin == "In the end the Red Lions of York won it all ."
    assert by_focus[2, 0].supports == ((2, 1),)
    assert by_focus[2, 1].negative in ("Leeds", "Bath")


@pytest.mark.parametrize(
    ("text", "focus", "negatives"),
    [
        ("By then the Red Lions had won 5 cups in all", (0, 3), {"7", "1,250"}),
        ("By then the Jets had won 1250 cups in all", (2, 3), {"5", "7"}),
        ("The Red Lions first met on 12 May 1901 in a pub", (0, 2), {"3 June 1920", "1935"}),
        ("That year the Lions came second in the league", (1, 4), {"3rd", "4th"}),  # no 1
    ],
)
def test_numbers_and_dates_are_known_by_their_values(text, focus, negatives):
    by_focus = {own.focus: own for own in twins(text)}
    assert by_focus[focus].negative in negatives


@pytest.mark.parametrize(
    "text",
    [
        "Nothing is said here of any team that we know",
        "In the end the Jets won it all as ever",  # no support
        "The Jets of York",  # three tokens are left beside each
        "In the end the jets of Leeds won it all",  # written small
        "In the end the Jets won all 5 or 7 of them",  # both of other rows
        "In the end the Red Lions of Bath won it all",
        "In the end the Lionshare of York was not theirs",
    ],
)
def test_what_gives_no_statement(text):
    assert twins(text) == []


def test_what_the_text_mentions_elsewhere_takes_no_place():
    text = "In the end the Jets of York won it all . The Red Lions were last ."
    assert [own.focus for own in twins(text)] == [(2, 1)]
    assert [own.negative for own in twins(text + " They are of Leeds .")] == ["Bath"]


def test_a_longer_name_is_not_the_shorter_one():
    text = "In the end the Red Lions of Leeds won it all ."
    for own in twins(text):
        assert own.focus in ((0, 0), (0, 1))
        assert own.negative != "Lions"  # it stands within the longer name


def test_what_cells_name():
    found = {(own.kind, own.names): own for own in references_of(CUPS)}
    kinds = {kind: {names for own, names in found if own is kind} for kind in Kind}
    assert kinds[Kind.ENTITY] == {("Red Lions",), ("Lions",), ("Jets",), ("Leeds",), ("York",), ("Bath",)}
    assert kinds[Kind.CARDINAL] == {("5",), ("7",), ("1,250",)}
    assert kinds[Kind.ORDINAL] == {("2nd",), ("3rd",), ("4th",)}
    assert kinds[Kind.DATE] == {("12 May 1901",), ("3 June 1920",), ("1935",)}
    assert found[Kind.ENTITY, ("York",)].rows == {1, 2}


def test_what_two_columns_name_is_not_spoken_of():
    rows = ((*linked("Leeds", "York"),), (*linked("York", "Bath"),))
    found = references_of(Table("t", plain("from", "to"), rows))
    assert {own.names for own in found} == {("Leeds",), ("Bath",)}


def test_a_name_of_two_pages_is_of_neither_and_takes_no_place():
    rows = (
        (Cell("Springfield", ("/a",)), *linked("Homer")),
        (Cell("Springfield", ("/b",)), *linked("Lincoln")),
        (Cell("Shelby", ("/c",)), *linked("Fred")),
    )
    table = Table("t", plain("town", "man"), rows)
    assert twins("It was long ago that Homer came to Springfield .", table) == []
    (own, other) = twins("It was long ago that Fred came to Shelby .", table)
    assert {own.negative, other.negative} <= {"Springfield", "Homer", "Lincoln"}
    assert all(own.negative != "Springfield" for own in twins("Fred came to Shelby , not to Springfield .", table))


NAMES = ("Ann Lee", "Ann", "Lee", "Bob", "Bob Moe", "New York", "York", "12", "7", "1,500", "1999", "4th", "3 May 1999")
FILLERS = ("was", "then", "seen", "with", "the", "old", "and", "Moe", "May", ".", ",", "\n", "1999", "of")


@st.composite
def tables(draw):
    columns = draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(*[st.sampled_from(NAMES)] * columns), min_size=1, max_size=5))
    return Table("t", plain(*"abc"[:columns]), tuple(linked(*row) for row in rows))


TEXTS = st.lists(st.sampled_from(NAMES + FILLERS), max_size=25).map(" ".join)


@settings(max_examples=120)
@given(tables(), TEXTS, st.integers(0, 9))
def test_a_twin_says_what_is_said_nowhere_of_a_cell_that_the_sentence_is_about(table, text, seed):
    found = counterfactuals(table, [text], Random(seed))
    assert found == counterfactuals(table, [text], Random(seed))
    assert len({own.twin for own in found}) == len(found)
    for own in found:
        row, column = own.focus
        name = table.rows[row][column].text
        assert own.negative in {cells[column].text for cells in table.rows} - {name}
        assert re.search(rf"(?<![\w,]){re.escape(own.negative)}(?![\w,])", text) is None
        assert max(map(different_tokens, ways_to_exchange(own.sentence, name, own.negative)[own.twin])) >= 4
        assert own.supports
        assert all(place == row and other != column for place, other in own.supports)
        mentioned = {other: table.rows[row][other].text for _, other in own.supports}
        assert all(support in own.sentence for support in mentioned.values())
        for cells in table.rows:
            also = all(cells[other].text == support for other, support in mentioned.items())
            assert not (also and cells[column].text == own.negative)


def ways_to_exchange(sentence, name, other):
    """What a sentence becomes when some of the occurrences of a name are another -> what is left without them."""
    parts, found = sentence.split(name), {}
    for exchanged in product((False, True), repeat=len(parts) - 1):
        between = [other if own else name for own in exchanged]
        left = ["" if own else name for own in exchanged]
        became, without = ("".join(chain(*zip(parts, [*own, ""], strict=True))) for own in (between, left))
        found.setdefault(became, []).append(without)
    return found


def different_tokens(text):
    return len(set(re.findall(r"\w+|[^\w\s]", text)))
