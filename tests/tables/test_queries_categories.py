"""Questions that call rows by their kind ask about the rows of that kind alone."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import pytest

from mate_cli.tables.queries.generate import records
from mate_cli.tables.table import Table
from tests.tables.test_queries import table_of

STOCK = table_of(
    "product|category|price|maker",
    "Hammer|Tools|15|Acme",
    "Wrench|Tools|18|Bolt",
    "Pliers|Tools|12|Acme",
    "Primer|Paint|31|Bolt",
    "Varnish|Paint|44|Acme",
    "Spade|Garden|27|Acme",
)
PEOPLE = table_of("name|occupation|age", "Ann|nurse|31", "Bob|cook|45", "Cy|nurse|52", "Dee|cook|28", "Eve|nurse|39")

CARS = table_of(
    "car|city|price|seats|insured|pool",
    "Fiat Uno|Rome|12|4|TRUE|x",
    "Opel Kadett|Oslo|15|5|FALSE|",
    "Ford Ka|Rome|8|4|TRUE|",
    "Audi Quattro|Bonn|31|2|FALSE|x",
    "Seat Ibiza|Oslo|14|5|TRUE|x",
)


def made_of(table: Table, number: int = 1500) -> list[dict[str, Any]]:
    return list(islice(records([table], seed=0, conversations=0.0), number))


@pytest.mark.parametrize(
    ("table", "pattern", "answers"),
    [
        (STOCK, r"^which tool is the most expensive\?*$", {"Wrench"}),
        (STOCK, r"^what is the cheapest paint( product)?\?*$", {"Primer"}),
        (STOCK, r"^how many tools are (there|listed)\?*$", {"3"}),
        (STOCK, r"^(list|name) all tools\?*$", {"Hammer", "Wrench", "Pliers"}),
        (STOCK, r"^(list|name) all paint products\?*$", {"Primer", "Varnish"}),
        (STOCK, r"^(list|name) all tools made by acme\?*$", {"Hammer", "Pliers"}),
        (STOCK, r"^what is (the )?average price of tools\?*$", {"15"}),
        (PEOPLE, r"^(which nurse is the|what is the) youngest( nurse)?\?*$", {"Ann"}),
        (CARS, r"^(which|what is the) (most expensive )?insured car( is the most expensive)?\?*$", {"Seat Ibiza"}),
        (CARS, r"^which car with a pool is the cheapest\?*$", {"Fiat Uno"}),
        (CARS, r"^which car that is not insured is the cheapest\?*$", {"Opel Kadett"}),
        (CARS, r"^(list|name) all cars with a pool that are insured\?*$", {"Fiat Uno", "Seat Ibiza"}),
        (CARS, r"^how many seats do insured cars have in total\?*$", {"13"}),
        (CARS, r"^how many insured cars are there\?*$", {"3"}),
        (PEOPLE, r"^how many cooks are (there|listed)\?*$", {"2"}),
    ],
)
def test_rows_are_called_by_their_kind(table: Table, pattern: str, answers: set[str]) -> None:
    said = [record for record in made_of(table) if re.match(pattern, record["question"])]
    assert said
    assert all({*record["answer"]} == answers for record in said)


def test_what_an_empty_cell_says_is_not_asked() -> None:
    """It may mean no, or that nobody knows."""
    asked = [record["question"] for record in made_of(CARS)]
    assert any("with a pool" in question for question in asked)
    assert not any("without a pool" in question or "no pool" in question for question in asked)


def test_a_kind_within_the_text_of_another_column_names_none() -> None:
    table = table_of("product|type|price", "Hammer|steel|1", "Nail of steel|wood|2", "Board|wood|3", "Bolt|steel|4")
    of_kind = [record for record in made_of(table) if "of a kind" in record["kind"]]
    assert of_kind
    assert not any("steel" in record["question"].split("nail of steel")[0] for record in of_kind)


def test_a_kind_that_is_part_of_another_names_none() -> None:
    table = table_of(
        "product|type|price", "Hammer|tools|1", "Spade|garden tools|2", "Rake|garden tools|3", "Saw|tools|4"
    )
    of_kind = [record["question"] for record in made_of(table) if "of a kind" in record["kind"]]
    assert of_kind
    assert all("garden" in question for question in of_kind)


def test_no_date_is_a_hotel() -> None:
    table = table_of("date|type|price", *(f"2020-0{n}-01|{('hotel', 'hostel')[n % 2]}|{n * n}" for n in range(1, 8)))
    assert not any("of a kind" in record["kind"] for record in made_of(table))
