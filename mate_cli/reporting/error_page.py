"""The wrong answers of an error analysis as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mate_cli.analysis.errors import BLAMED, Errors, WrongAnswer
from mate_cli.metrics.near_miss import MISSES
from mate_cli.reporting.templates import render
from mate_cli.tables.table import Coordinate

MAX_ROWS = 60
"""A table with more rows shows those around its marked cells, and no more than these."""

MAX_PASSAGE_CELLS = 12
"""Of so many marked cells the passages are shown, the chosen one first."""

_AROUND, _SCORES = 2, 5


def error_page(errors: Errors, title: str) -> str:
    """The page; every text of the data is escaped by the template engine."""
    return render("errors.html", title=title, errors=errors, cases=[case_view(answer) for answer in errors.sample])


def case_view(answer: WrongAnswer) -> dict[str, Any]:
    """What the page shows of one wrong answer."""
    example = answer.example
    marked = list(dict.fromkeys([*([answer.chosen] if answer.chosen is not None else []), *example.candidates]))
    return {
        "id": example.id,
        "question": example.question,
        "gold": list(example.answers or ()),
        "prediction": answer.prediction,
        "f1": answer.f1,
        "miss": None if answer.miss is None else MISSES[answer.miss],
        "blamed": BLAMED[answer.blamed],
        "title": example.table.title or example.table.id,
        "header": [cell.text for cell in example.table.header],
        "rows": list(_rows(answer, marked)),
        "cells": [_marked_cell(answer, place) for place in marked[:MAX_PASSAGE_CELLS]],
        "more_cells": max(len(marked) - MAX_PASSAGE_CELLS, 0),
        "scores": [_score(answer, cell) for cell in answer.cells[:_SCORES]],
    }


def rows_to_show(rows: int, marked: list[int]) -> list[int]:
    """All rows of a small table; of a large one at most ``MAX_ROWS``, those around the marked, in their order."""
    if rows <= MAX_ROWS:
        return list(range(rows))
    near = (row + step for row in marked for step in range(-_AROUND, _AROUND + 1))
    chosen = dict.fromkeys(row for row in [*marked, *near, *range(2 * _AROUND)] if 0 <= row < rows)
    return sorted(list(chosen)[:MAX_ROWS])


def _rows(answer: WrongAnswer, marked: list[Coordinate]) -> Iterator[dict[str, Any]]:
    """The rows to show, and between them how many are left out."""
    table, last = answer.example.table, -1
    for row in rows_to_show(table.num_rows, [row for row, _ in marked]):
        if row > last + 1:
            yield {"left_out": row - last - 1}
        last = row
        yield {"number": row, "cells": [_cell(answer, (row, column)) for column in range(table.num_columns)]}
    if last + 1 < table.num_rows:
        yield {"left_out": table.num_rows - last - 1}


def _cell(answer: WrongAnswer, place: Coordinate) -> dict[str, Any]:
    gold, chosen = place in answer.example.candidates, place == answer.chosen
    text = answer.example.table.rows[place[0]][place[1]].text
    return {"text": text, "gold": gold, "chosen": chosen}


def _marked_cell(answer: WrongAnswer, place: Coordinate) -> dict[str, Any]:
    table, (row, column) = answer.example.table, place
    links = dict.fromkeys(table.rows[row][column].links)
    passages = [(link, answer.example.passages[link]) for link in links]
    return _cell(answer, place) | {"row": row, "header": table.header[column].text, "passages": passages}


def _score(answer: WrongAnswer, cell: dict[str, Any]) -> dict[str, Any]:
    """A cell that was looked at; ``span`` and its scores are None of a selector alone."""
    place = (cell["row"], cell["column"])
    read = {name: cell.get(name) for name in ("span", "span_probability", "joint")}
    header = answer.example.table.header[cell["column"]].text
    return _cell(answer, place) | read | {"row": cell["row"], "header": header, "probability": cell["probability"]}
