"""What the terminal shows of a table that a stranger made."""

from __future__ import annotations

import pytest
from rich.console import Console

from mate_cli.reporting.answer import answer_line
from mate_cli.reporting.marked_table import marked_table, printable
from mate_cli.tables.table import Cell, Table

NASTY = "\x1b]0;title\x07\x1b[2J[bold]paris[/bold]\r\n"
CELL = {"row": 0, "column": 0, "header": NASTY, "text": NASTY, "probability": 1.0}


@pytest.mark.parametrize("marked", [[], [CELL]])
def test_no_cell_steers_the_terminal(marked: list[dict[str, object]]) -> None:
    table = Table("t", (Cell(NASTY),), ((Cell(NASTY),),), title=NASTY)
    console = Console(width=200, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(marked_table(table, marked, 200))
        console.print(answer_line({"answer": NASTY, "cells": [CELL]}), markup=False, highlight=False)
    shown = captured.get()
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
    assert shown.count("[bold]paris[/bold]") >= 4


def test_what_turns_a_text_around_is_left_out_and_joiners_stay() -> None:
    assert printable("a\u202ecba\u202c\u2066b\u2069\ufeff\u00ad\u200bc\U000e0041") == "acbabc"
    assert printable("a\u2028b\u2029c\td") == "a b c d"
    for text in ("می\u200cخواهم", "👩\u200d🚀", "Łódź 東京 ﷺ"):
        assert printable(text) == text


def drawn(rows: int, columns: int, marked: list[tuple[int, int]], width: int, long: str = "") -> list[str]:
    """The lines of a table whose cells name their place; ``long`` ends every third column's."""
    texts = [[f"{row}/{column}{long if column % 3 == 2 else ''}" for column in range(columns)] for row in range(rows)]
    body = tuple(tuple(map(Cell, row)) for row in texts)
    table = Table("t", tuple(Cell(f"head {column}") for column in range(columns)), body)
    cells = [{"row": row, "column": column, "probability": 0.5} for row, column in marked]
    console = Console(width=width, color_system=None, soft_wrap=True)
    with console.capture() as captured:
        console.print(marked_table(table, cells, width))
    return captured.get().splitlines()


def test_a_small_table_is_whole() -> None:
    lines = drawn(20, 4, [(3, 1)], 80, " and more")
    assert [line.split()[1] for line in lines if line.startswith("│")] == [str(row) for row in range(20)]
    assert "…" not in "".join(lines)
    assert "shown" not in lines[-1]
    assert "3/1 #1 50.0%" in "".join(lines)


def test_a_long_table_shows_marked_rows_with_neighbours() -> None:
    lines = drawn(300, 3, [(150, 1), (152, 2), (299, 0)], 80)
    rows = [line.split()[1] for line in lines if line.startswith("│")]
    assert rows == ["0", "1", "…", "149", "150", "151", "152", "153", "…", "298", "299"]
    assert lines[-1].strip() == "9 of 300 rows shown"
    assert all(f"#{rank} 50.0%" in "".join(lines) for rank in (1, 2, 3))


def test_of_many_marked_rows_the_best_stay() -> None:
    lines = drawn(900, 2, [(row, 0) for row in range(890, 0, -10)], 80)
    rows = [line.split()[1] for line in lines if line.startswith("│")]
    assert {"890", "889", "891", "760"} < set(rows)
    assert "10" not in rows
    assert lines[-1].strip() == "40 of 900 rows shown"


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("long", ["", " and a remark that goes on and on and on and on and on"])
@pytest.mark.parametrize("columns", [3, 9, 60])
def test_a_wide_table_fits_the_terminal_around_its_best_cell(columns: int, long: str, width: int) -> None:
    best = (7, columns - 2)
    lines = drawn(60, columns, [best, (8, 0), (40, columns // 2)], width, long)
    table = [line for line in lines if line[0] in "┏┃┡│└"]
    assert {len(line) for line in table} == {len(table[0])}
    assert len(table[0]) <= width
    assert f"{best[0]}/{best[1]}" in "".join(table)
    assert "#1 50.0%" in "".join(table)
    assert not [line for line in table if line.startswith("│     ")]  # no cell goes on in a second line
    shown = table[1].count("head")
    assert (f" of {columns} columns shown" in lines[-1]) == (shown < columns)


def test_a_table_without_marks_shows_its_first_columns() -> None:
    lines = drawn(30, 40, [], 80)
    assert lines[1].replace("┃", " ").split()[:5] == ["row", "head", "0", "head", "1"]
    assert lines[-1].strip().startswith("2 of 30 rows and ")


@pytest.mark.parametrize(
    ("operator", "formula", "place"), [("NONE", None, "2 cells of depth"), ("SUM", "1 + 2", "1 + 2")]
)
def test_an_answer_of_cells_is_as_probable_as_the_least_of_its_parts(
    operator: str, formula: str | None, place: str
) -> None:
    cells = [{"header": "depth", "row": row, "text": "1", "probability": 0.9 - row / 10} for row in (0, 1)]
    record = {"answer": ["1", "2"], "cells": cells, "formula": formula, "operator": operator}
    assert answer_line({**record, "operator_probability": 0.95}) == f"answer: 1, 2  ({place}; probability 0.80)"
    assert answer_line({**record, "operator_probability": 0.25}) == f"answer: 1, 2  ({place}; probability 0.25)"
    none = {**record, "answer": [], "cells": [], "formula": None, "operator_probability": 0.6}
    assert answer_line(none) == "answer: none  (0 cells; probability 0.00)"


@pytest.mark.parametrize(
    ("probability", "said"), [(0.6963, "0.696 is below threshold=0.7"), (0.5, "0.50 is below threshold=0.7")]
)
def test_a_probability_is_told_from_the_threshold(probability: float, said: str) -> None:
    record = {"answer": [], "cells": [], "formula": None, "operator": "NONE", "best_guess": ["1"], "threshold": 0.7}
    assert f"no answer: probability {said}; " in answer_line({**record, "answer_probability": probability})


def test_a_text_of_several_cells_is_written_once() -> None:
    texts = ["IT", "Office", "IT", "IT"]
    cells = [{"header": "team", "row": row, "text": text, "probability": 0.9} for row, text in enumerate(texts)]
    record = {"answer": texts, "cells": cells, "formula": None, "operator": "NONE", "operator_probability": 1.0}
    assert answer_line(record) == "answer: IT (3 times), Office  (4 cells of team; probability 0.90)"
