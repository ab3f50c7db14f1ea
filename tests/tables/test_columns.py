"""Kinds of columns, ranks and relations, beside their definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.columns import EQUAL, GREATER, LESS, ColumnValues, column_values
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.user_limits import table_of
from mate_cli.tables.values import Date, find_values

TEXTS = st.sampled_from(["1", "2.0", "2", "-3", "1e39", "", "red", "1999", "2001", "May", "may 5, 2001", "june 2001"])
COLUMNS = st.lists(TEXTS, max_size=9)


def pairs(texts: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.sampled_from(texts), st.sampled_from(texts))


def column(*texts: str) -> ColumnValues:
    return column_values(Table("t", (Cell("x"),), tuple((Cell(text),) for text in texts)))


def ranks(*texts: str) -> list[int]:
    own: list[int] = column(*texts).rank[:, 0].tolist()
    return own


@given(COLUMNS)
def test_ranks_are_dense_and_inverse(texts: list[str]) -> None:
    values = column(*texts)
    rank, inverse = values.rank[:, 0], values.inverse_rank[:, 0]
    highest = int(rank.max(initial=0))
    assert set(rank[rank > 0].tolist()) == set(range(1, highest + 1))
    assert (inverse == np.where(rank > 0, highest + 1 - rank, 0)).all()


@given(st.lists(st.floats(-1000, 1000, width=32), min_size=1))
def test_ranks_of_numbers(numbers: list[float]) -> None:
    texts = [f"{number:.3f}" for number in numbers]
    order = sorted({np.float32(text) for text in texts})
    assert ranks(*texts) == [order.index(np.float32(text)) + 1 for text in texts]


@given(texts=COLUMNS, question=TEXTS)
def test_relations_are_those_of_the_keys(texts: list[str], question: str) -> None:
    """A cell that ranks below one that equals a value is below the value, and so on."""
    values = column(*texts)
    for value in find_values(question):
        relation, rank = values.relations([value])[:, 0], values.rank[:, 0]
        assert set(relation.tolist()) <= {0, EQUAL, LESS, GREATER}
        for one in np.flatnonzero(relation == EQUAL):
            below, above = (rank > 0) & (rank < rank[one]), rank > rank[one]
            if not isinstance(value, Date):  # a date may compare by fewer fields than the column ranks by
                assert (relation[below] == GREATER).all()
                assert (relation[above] == LESS).all()


@given(texts=COLUMNS, questions=st.lists(TEXTS, max_size=3))
def test_relations_of_several_values_are_those_of_each(texts: list[str], questions: list[str]) -> None:
    values = column(*texts)
    found = [value for question in questions for value in find_values(question)]
    each = [values.relations([value]) for value in found]
    expected = np.bitwise_or.reduce(each) if each else np.zeros((len(texts), 1))
    np.testing.assert_array_equal(values.relations(found), expected)


@given(st.sampled_from([("1", "2.0", "-3", "1e39"), ("1999", "May 2001", "may 5, 2001", "december")]).flatmap(pairs))
def test_relations_are_antisymmetric(texts: tuple[str, str]) -> None:
    mirrored = {0: 0, EQUAL: EQUAL, LESS: GREATER, GREATER: LESS}
    one, other = map(find_values, texts)
    there = column(texts[1]).relations(one[-1:])[0, 0]
    assert mirrored[int(column(texts[0]).relations(other[-1:])[0, 0])] == there


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ((*"1234567", "a", "b", "c"), "numbers"),
        ((*"123456", "x", "a", "b", "c"), ""),
        (("1999", "2001"), "dates"),  # as many numbers as dates
        (("1999", "2001", "17"), "numbers"),
        (("red", "blue"), ""),
        ((), ""),
    ],
)
def test_kinds(texts: tuple[str, ...], kind: str) -> None:
    values = column(*texts)
    assert np.isfinite(values.numbers).any() == (kind == "numbers")
    assert values.dates.any() == (kind == "dates")
    assert values.rank.any() == bool(kind)


def test_dates_compare_by_what_all_of_them_have() -> None:
    assert ranks("may 5, 2005", "june 2005", "2004") == [2, 2, 1]
    assert ranks("may 5", "april 6", "may 4") == [3, 1, 2]
    mixed = column("2004", "may", "may 5")
    assert not mixed.rank.any()
    assert not mixed.relations(find_values("in 2004 or may")).any()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("after 2004", [EQUAL, LESS]),
        ("since may 2005", [GREATER, EQUAL]),
        ("since march 1, 2005", [GREATER, LESS]),
        ("in 2005 or 2004", [EQUAL | GREATER, EQUAL | LESS]),
        ("the 5th", [0, 0]),
        ("in may 1700", [LESS, LESS]),
    ],
)
def test_relations_of_dates(question: str, expected: list[int]) -> None:
    assert column("june 2004", "may 2005").relations(find_values(question))[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("$1,200", "(30)", "7½", "7"), [4, 1, 3, 2]),
        (("1.200,50", "1.100", "0,75", ""), [3, 2, 1, 0]),
        (("12 km", "9 km", "n/a", "9.5 km"), [3, 1, 0, 2]),
        (("1.2 million", "950,000", "3 million", "800"), [3, 2, 4, 1]),
        (("$1.2M", "$950K", "$3B", "$12"), [3, 2, 4, 1]),
        (("1999", "May 2001", "2000", "1998"), [2, 4, 3, 1]),  # dates
        (("$9", "8 km", "7", "6"), [4, 3, 2, 1]),  # several units: the first number of each, as in the release
    ],
)
def test_ranks_in_a_users_table_follow_what_people_read(texts: tuple[str, ...], expected: list[int]) -> None:
    own = column_values(table_of(Path("own.csv"), ["x"], [[text] for text in texts]))
    assert own.rank[:, 0].tolist() == expected


def test_the_decimal_mark_of_another_column_decides_ranks() -> None:
    rows = [["12.500", "1,5"], ["8", "2,5"], ["9", "3"]]
    assert column_values(table_of(Path("own.csv"), ["a", "b"], rows)).rank[:, 0].tolist() == [3, 1, 2]
    plain = column_values(table_of(Path("own.csv"), ["a", "b"], [["12.500", "x"], ["18", "y"], ["9", "z"]]))
    assert plain.rank[:, 0].tolist() == [2, 3, 1]


def test_each_column_for_itself() -> None:
    lines = (("1999", "12", "x"), ("2001", "1,200", "2"), ("1998", "$7", "y"))
    values = column_values(Table("t", (Cell(""),) * 3, tuple(tuple(map(Cell, line)) for line in lines)))
    assert values.rank.T.tolist() == [[2, 3, 1], [2, 3, 1], [0, 0, 0]]
    assert values.relations(find_values("12 in 2000")).T.tolist() == [
        [GREATER, LESS, GREATER],
        [EQUAL | GREATER, LESS | GREATER, GREATER],
        [0, 0, 0],
    ]


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0)])
def test_tables_without_cells(shape: tuple[int, int]) -> None:
    rows, columns = shape
    values = column_values(Table("t", (Cell("1"),) * columns, ((Cell("1"),) * columns,) * rows))
    assert values.numbers.shape == values.rank.shape == values.relations((1.0, Date(2000))).shape == shape
