"""The wrong answers of an error analysis as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mate_cli.analysis.errors import BLAMED, Errors, WrongAnswer
from mate_cli.kinds.cell_selection import cell_record
from mate_cli.metrics.near_miss import MISSES
from mate_cli.reporting.templates import render
from mate_cli.tables.table import Coordinate

MAX_ROWS = 60
"""The most rows shown of a table; of a larger one, the rows around its marked cells."""

MAX_PASSAGE_CELLS = 12
"""The most marked cells whose passages are shown, the chosen cell first."""

_AROUND, _SCORES = 2, 5


def error_page(errors: Errors, title: str) -> str:
    return render("errors.html", title=title, errors=errors, cases=[_case(answer) for answer in errors.sample])


def _case(answer: WrongAnswer) -> dict[str, Any]:
    example = answer.example
    marked = list(dict.fromkeys([*([answer.chosen] if answer.chosen is not None else []), *example.candidates]))
    return {
        "answer": answer,
        "miss": None if answer.miss is None else MISSES[answer.miss],
        "blamed": BLAMED[answer.blamed],
        "title": example.table.title or example.table.id,
        "rows": list(_rows(answer, marked)),
        "cells": [
            _cell(answer, place) | {"passages": _passages(answer, place)} for place in marked[:MAX_PASSAGE_CELLS]
        ],
        "more_cells": max(len(marked) - MAX_PASSAGE_CELLS, 0),
        "scores": [_score(answer, record) for record in answer.cells[:_SCORES]],
    }


def rows_to_show(rows: int, marked: list[int]) -> list[int]:
    """All rows of a small table; of a larger one the rows around the marked ones, at most ``MAX_ROWS``, in order."""
    if rows <= MAX_ROWS:
        return list(range(rows))
    near = (row + step for row in marked for step in range(-_AROUND, _AROUND + 1))
    chosen = dict.fromkeys(row for row in [*marked, *near, *range(2 * _AROUND)] if 0 <= row < rows)
    return sorted(list(chosen)[:MAX_ROWS])


def _rows(answer: WrongAnswer, marked: list[Coordinate]) -> Iterator[dict[str, Any]]:
    """The rows to show, and the number of rows left out between them."""
    table, last = answer.example.table, -1
    for row in rows_to_show(table.num_rows, [row for row, _ in marked]):
        if row > last + 1:
            yield {"left_out": row - last - 1}
        last = row
        yield {"number": row, "cells": [_cell(answer, (row, column)) for column in range(table.num_columns)]}
    if last + 1 < table.num_rows:
        yield {"left_out": table.num_rows - last - 1}


def _cell(answer: WrongAnswer, place: Coordinate) -> dict[str, Any]:
    marks = {"gold": place in answer.example.candidates, "chosen": place == answer.chosen}
    return cell_record(answer.example.table, place) | marks


def _passages(answer: WrongAnswer, place: Coordinate) -> list[tuple[str, str]]:
    links = answer.example.table.rows[place[0]][place[1]].links
    return [(link, answer.example.passages[link]) for link in dict.fromkeys(links)]


def _score(answer: WrongAnswer, record: dict[str, Any]) -> dict[str, Any]:
    """A ranked cell with its scores; the span and its scores are None for a selector alone."""
    scores = {name: record.get(name) for name in ("probability", "span", "span_probability", "joint")}
    return _cell(answer, (record["row"], record["column"])) | scores
