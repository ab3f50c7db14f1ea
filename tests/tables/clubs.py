"""A table of clubs, and the record of an answer on it."""

from __future__ import annotations

from typing import Any

from mate_cli.kinds.registry import kind_named
from mate_cli.tables.table import Cell, Table
from mate_cli.tasks.table_qa import TableAnswer


def table(*rows: str) -> Table:
    header, *body = (tuple(map(Cell, row.split(","))) for row in rows)
    return Table("t", header, tuple(body), everyday=True)


CLUBS = table(
    "club,town,members,yellow cards,goals for,founded,week,spent,days per match",
    "Comets,Holt,40,3,12,1961,1,500,2",
    "Rovers,Lund,25,0,7,1898,2,125,2",
    "Wolves,Holt,90,5,12,1974,3,70,9",
    "Foxes,Lund,12,1,4,1983,4,310,4",
    "Crows,Tarn,31,4,9,2005,5,42,3",
)
COLUMNS = [cell.text for cell in CLUBS.header]


def cells(column: str, *rows: int) -> list[tuple[int, int]]:
    return [(row, COLUMNS.index(column)) for row in rows]


def record(question: str, column: str, operator: str, *rows: int) -> dict[str, Any]:
    answering = kind_named("table_qa").answering
    assert answering is not None
    probabilities = tuple(0.6 + row / 100 for row in rows)
    return answering.record(question, CLUBS, TableAnswer("q", tuple(cells(column, *rows)), probabilities, operator), 1)
