"""The largest group of rows, for questions such as "which supplier delivers the most products?"."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.kinds.asked_form import as_asked
from mate_cli.tables.most_frequent import most_frequent
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.clubs import table

STOCK = table(
    "product,supplier,colour,w",
    *("Hammer,Acme,red,7", "Saw,Borg,blue,9", "Rake,Acme,red,8"),
    *("Drill,Acme,,7", "Hoe,Borg,red,3", "Spade,Cork,green,5"),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which supplier supplies the most products?", "Acme"),
        ("which supplier has the largest number of tools", "Acme"),
        ("Which supplier is listed the most?", "Acme"),
        ("what supplier appears most often in this table?", "Acme"),
        ("Which supplier delivers the fewest products?", "Cork"),
        ("What is the most common colour?", "red"),
        ("Which colour do the most products have?", "red"),
        ("Which supplier has the most wins?", None),  # "w" may have them
        ("Which supplier is the most expensive?", None),
        ("Which product has the most colours?", None),  # each is there once
        ("Which supplier sells the most red products?", None),  # "red" is no plural
        ("Which shop has the most products?", None),
        ("Which colour has the fewest products?", None),  # blue and green have one each
        ("Who supplies the most?", None),
        ("Which supplier sells the Hammer?", None),
    ],
)
def test_the_largest_group_is_found_where_rows_are_counted(question: str, answer: str | None) -> None:
    found = most_frequent(question, STOCK)
    assert (found and STOCK.rows[found[0]][found[1]].text) == answer


@given(st.lists(st.sampled_from(["Acme", "Borg", "Cork"]), min_size=4, max_size=12))
def test_a_group_is_found_if_it_is_larger_than_all_others(suppliers: list[str]) -> None:
    own = table("product,supplier", *(f"tool {place},{name}" for place, name in enumerate(suppliers)))
    (first, most), *others = Counter(suppliers).most_common()
    expected = (suppliers.index(first), 1) if others and most > others[0][1] else None
    few = len(others) + 1 <= 0.8 * len(suppliers)
    assert most_frequent("Which supplier has the most products?", own) == (expected if few else None)


def test_an_answer_gets_the_group_but_no_answer_stays_one() -> None:
    asked = "Which supplier has the most products?"
    counted = TableAnswer("q", ((1, 1), (4, 1)), (0.5, 0.7), "COUNT", 0.9)
    given = as_asked(asked, STOCK, counted)
    assert (given.cells, given.probabilities, given.aggregation) == (((0, 1),), (0.7,), "NONE")
    nothing = TableAnswer("q", (), (), "NONE", 0.9)
    assert as_asked(asked, STOCK, nothing) == nothing
