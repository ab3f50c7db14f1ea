"""Numbers computed for people: amounts as they are written in many countries, units, empty cells, and their formula."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.tables.amounts import read_amounts
from mate_cli.tables.computed import Computed, computed
from mate_cli.tables.table import Cell, Table


def column(*texts: str) -> Table:
    return Table("t", (Cell("head"),), tuple((Cell(text),) for text in texts))


def of_all(texts: tuple[str, ...], aggregation: str) -> Computed:
    return computed(column(*texts), [(row, 0) for row in range(len(texts))], aggregation)


@pytest.mark.parametrize(
    ("texts", "aggregation", "answer", "shown"),
    [
        (("3", "4,000"), "SUM", "4003", "4003"),
        (("0.1", "0.2"), "SUM", "0.3", "0.3"),
        (("-1", "1"), "SUM", "0", "0"),
        (("1", "1", "2"), "AVERAGE", "1.333333333", "1.333333333"),
        (("1e300", "1"), "COUNT", "2", "2"),
        (("$1,200", "$5", "12"), "SUM", "1217", "$1217"),
        (("-$5", "$-7.50"), "SUM", "-12.5", "-$12.5"),
        (("EUR 5", "EUR 7"), "DIFFERENCE", "2", "EUR 2"),
        (("10%", "25%", "5%"), "SUM", "40", "40%"),
        (("1 year", "2 years"), "SUM", "3", "3 years"),
        (("3 Miles", "4 miles"), "SUM", "7", "7 miles"),
        (("1 lb", "2 lbs"), "SUM", "3", "3 lbs"),
        (("5 €", "€ 5"), "SUM", "10", "€ 10"),  # one currency, shown once
        (("EUR 5", "6 EUR"), "SUM", "11", "11 EUR"),
        (("12 km/h", "15 km/h"), "AVERAGE", "13.5", "13.5 km/h"),
        (("1.200,50", "3.400,25"), "SUM", "4600.75", "4600.75"),  # the decimal comma
        (("0,125", "1,500"), "SUM", "1.625", "1.625"),
        (("1,200", "3,400.5"), "SUM", "4600.5", "4600.5"),
        (("1,200", "300"), "SUM", "1500", "1500"),
        (("12,34,567", "1"), "SUM", "1234568", "1234568"),  # as in India
        (("7½", "6 ½", "5", "¾"), "SUM", "19.75", "19.75"),
        (("⅓", "⅓", "⅓ cup"), "SUM", "1", "1 cup"),
        (("-2½ km", "½ km"), "SUM", "-2", "-2 km"),
        (("(100)", "30"), "SUM", "-70", "-70"),  # as accountants write
        (("($1,200)", "$200"), "SUM", "-1000", "-$1000"),
        (("$(300)", "$ (5)"), "SUM", "-305", "-$305"),
        (("€\N{MINUS SIGN}5", "\N{MINUS SIGN}€ 5"), "SUM", "-10", "-€ 10"),
        (("Rs 500", "Rs. 300"), "SUM", "800", "Rs. 800"),
        (("1.200,-", "300,– €"), "SUM", "1500", "1500 €"),
        (("5 million", "2 Million"), "SUM", "7000000", "7 Million"),
        (("$5 million", "$3"), "SUM", "5000003", "$5000003"),
        (("1.2 million", "950,000"), "SUM", "2150000", "2150000"),
        (("950K", "1.2M", "30"), "SUM", "2150030", "2150030"),
        (("$950", "-$1.2K"), "SUM", "-250", "-$250"),
        (("1½ million km", "2 thousand km"), "DIFFERENCE", "1498000", "1498000 km"),
        (("1,2 Mio. €", "3,5 Mrd. €", "900 Tsd. €"), "SUM", "3502100000", "3502100000 €"),
        (("3 Mio. €", "4 Mio. €"), "SUM", "7000000", "7 Mio. €"),
        (("$41M", "$1.2M"), "DIFFERENCE", "39800000", "$39.8M"),
        (("5 M", "7M"), "SUM", "12", "12 M"),
        (("3 k€", "200 €"), "SUM", "3200", "3200 €"),
        (("2 lakh", "1 crore"), "SUM", "10200000", "10200000"),
        (("300 K", "310 K"), "AVERAGE", "305", "305 K"),
        (("5 m", "7"), "SUM", "12", "12 m"),
        (("5", "NA", "n.a.", "<NA>", "#N/A"), "SUM", "5", "5"),
        (("5 m²", "7 m²"), "SUM", "12", "12 m²"),
        (("1,000 km2", "20 km2"), "SUM", "1020", "1020 km2"),
        (("1 200 000", "1\u00a0000", "1'000"), "SUM", "1202000", "1202000"),
        (("9007199254740993", "2", "4"), "SUM", "9007199254740999", "9007199254740999"),
        (("0.0000000001", "0.0000000002"), "SUM", "0.0000000003", "0.0000000003"),
        (("1e30", "1"), "SUM", "1" + "0" * 29 + "1", "1" + "0" * 29 + "1"),
    ],
)
def test_a_number_is_computed_from_amounts(texts: tuple[str, ...], aggregation: str, answer: str, shown: str) -> None:
    result = of_all(texts, aggregation)
    assert result.answer == (answer,)
    assert result.formula is not None
    assert result.formula.partition(" = ")[2] == shown
    assert result.problem is None


@pytest.mark.parametrize(
    ("texts", "aggregation", "problem"),
    [
        (("$5", "€3"), "SUM", "no SUM: the units differ: $ and €"),
        (("€ 5", "5 $"), "SUM", "no SUM: the units differ: $ and €"),
        (("€5", "5 km"), "SUM", "no SUM: the units differ: km and €"),
        (("$5 million", "3"), "SUM", "no SUM: the units differ: '$5 million' and '3'"),
        (("1.2 million km", "950,000"), "SUM", "no SUM: the units differ: '1.2 million km' and '950,000'"),
        (("950", "1.2K"), "DIFFERENCE", "no DIFFERENCE: the units differ: '1.2K' and '950'"),  # kelvins, perhaps
        (("5 B", "3 kB"), "SUM", "no SUM: the units differ: B and kB"),
        (("10%", "0.2"), "AVERAGE", "no AVERAGE: the units differ: '10%' and '0.2'"),
        (("5 m", "20 ms"), "SUM", "no SUM: the units differ: m and ms"),
        (("1 Mb", "8 MB"), "SUM", "no SUM: the units differ: MB and Mb"),
        (("5 mW", "3 MW"), "AVERAGE", "no AVERAGE: the units differ: MW and mW"),
        (("1.5M", "2.5m"), "SUM", "no SUM: the units differ: M and m"),
        (("1 Mbps", "1 MBps"), "SUM", "no SUM: the units differ: MBps and Mbps"),
        (("MAY 5", "MAY 7"), "SUM", "no SUM: 'MAY 5' is no number"),
        (("1", "Two"), "SUM", "no SUM: 'Two' is no number"),
        (("1,2,3", "1"), "SUM", "no SUM: '1,2,3' is no number"),
        (("1_000", "1"), "SUM", "no SUM: '1_000' is no number"),
        (("12¹", "3"), "SUM", "no SUM: '12¹' is no number"),
        (("12 ²", "3"), "SUM", "no SUM: '12 ²' is no number"),
        (("1½½", "3"), "SUM", "no SUM: '1½½' is no number"),
        (("(-5)", "3"), "SUM", "no SUM: '(-5)' is no number"),
        (("3-4", "1"), "AVERAGE", "no AVERAGE: '3-4' is no number"),
        (("12 May", "13 May"), "SUM", "no SUM: '12 May' is no number"),
        (("1st", "2nd"), "SUM", "no SUM: '1st' is no number"),
        (("inf", "3"), "SUM", "no SUM: 'inf' is no number"),
        (("1e400", "3"), "SUM", "no SUM: '1e400' is no number"),
        (("1.5", "1,5"), "SUM", "no SUM: '1,5' has a decimal comma, '1.5' a decimal point"),
        (("7",), "DIFFERENCE", "DIFFERENCE takes 2 numbers or more"),
        (("", "n/a"), "SUM", "SUM takes 1 number or more"),
    ],
)
def test_where_nothing_can_be_computed_the_cells_are_the_answer(
    texts: tuple[str, ...], aggregation: str, problem: str
) -> None:
    assert of_all(texts, aggregation) == Computed(texts, None, problem)


def test_the_column_tells_the_mark_where_the_cells_do_not() -> None:
    chosen = [(0, 0), (1, 0)]
    assert computed(column("1,200", "3,400", "0,5"), chosen, "SUM").answer == ("4.6",)
    assert computed(column("1,200", "3,400", "0.5"), chosen, "SUM").answer == ("4600",)
    assert computed(column("1,200", "3,400", "0.5", "0,5"), chosen, "SUM").answer == ("4600",)
    assert computed(column("1.5", "2.5", "3,4"), chosen, "SUM").answer == ("4",)


def test_the_table_tells_the_mark_where_the_column_does_not() -> None:
    chosen = [(0, 0), (1, 0)]
    for others, answer in (
        (("1,50", "x"), "20800"),
        (("1.50", "x"), "20.8"),
        (("1,50", "1.50"), "20.8"),
        (("1", "x"), "20.8"),
    ):
        rows = tuple((Cell(text), Cell(other)) for text, other in zip(("12.500", "8.300"), others, strict=True))
        assert computed(Table("t", (Cell("a"), Cell("b")), rows), chosen, "SUM").answer == (answer,)


def test_cells_without_a_number_are_left_out() -> None:
    result = of_all(("10", "", "nan", "–", "30", "26"), "AVERAGE")
    assert result == Computed(("22",), "AVERAGE(head of rows 0, 4, 5) = 22")
    assert of_all(("10", "", "30"), "COUNT").answer == ("3",)


@given(st.lists(st.decimals(-(10**12), 10**12, places=2), min_size=2, max_size=5), st.booleans(), st.data())
def test_amounts_are_read_as_python_writes_them(numbers: list[Decimal], has_comma: bool, data: st.DataObject) -> None:
    texts = [f"{number:,.2f}" for number in numbers]  # two decimals show which mark is decimal
    if has_comma:
        texts = [text.translate(str.maketrans(".,", ",.")) for text in texts]
    unit = data.draw(st.sampled_from(["", " %", " km", " kg"]))
    amounts = read_amounts([text + unit for text in texts], texts)
    assert [Fraction(number) for number in amounts.numbers] == [Fraction(number) for number in numbers]
    assert amounts.after == unit


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_texts_are_read_or_refused_with_a_reason(left: str, right: str) -> None:
    result = of_all((left, right), "SUM")
    assert (result.formula is None) == (result.problem is not None)


POINTS = Table(
    "t",
    (Cell("name"), Cell("points"), Cell("")),
    tuple((Cell(f"n{row}"), Cell(str(10 * row)), Cell("x")) for row in range(9)),
)


@pytest.mark.parametrize(
    ("cells", "aggregation", "shown"),
    [
        ([(2, 1), (5, 1)], "SUM", "SUM(points of rows 2, 5) = 70"),
        ([(1, 0), (3, 0), (4, 0)], "COUNT", "COUNT(name of rows 1, 3, 4) = 3"),
        ([(row, 1) for row in (0, 3, 4, 5, 7, 8)], "AVERAGE", "AVERAGE(points of rows 0, 3-5, 7, 8) = 45"),
        ([(6, 1)], "SUM", "SUM(points of row 6) = 60"),
        ([(6, 2)], "COUNT", "COUNT(column 2 of row 6) = 1"),
        ([(1, 0), (1, 1)], "COUNT", "COUNT(name of row 1; points of row 1) = 2"),
        ([(1, 0), (2, 0)], "SUM", None),
        ([(1, 1)], "NONE", None),
        ([], "COUNT", None),
    ],
)
def test_the_formula_of_an_answer(cells: list[tuple[int, int]], aggregation: str, shown: str | None) -> None:
    assert computed(POINTS, cells, aggregation).formula == shown


def test_the_formula_of_many_rows_names_some() -> None:
    table = Table("t", (Cell("n"),), tuple((Cell(str(row)),) for row in range(1000)))
    apart = computed(table, [(row, 0) for row in range(0, 999, 3)], "COUNT").formula
    assert apart == "COUNT(n of rows 0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 321 more) = 333"
    assert computed(table, [(row, 0) for row in range(1000)], "COUNT").formula == "COUNT(n of rows 0-999) = 1000"


@given(st.sets(st.integers(0, 8), min_size=2), st.sampled_from(["SUM", "AVERAGE", "COUNT", "DIFFERENCE"]))
def test_the_rows_of_a_formula_are_those_of_its_cells(rows: set[int], aggregation: str) -> None:
    result: Any = computed(POINTS, sorted((row, 1) for row in rows), aggregation)
    left, _, right = result.formula.partition(" = ")
    assert (right,) == result.answer
    named = set()
    for part in left.rpartition(" of row")[2].lstrip("s ").rstrip(")").split(", "):
        first, _, last = part.partition("-")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == rows
