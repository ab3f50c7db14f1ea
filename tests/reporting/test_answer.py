"""What the terminal shows of a table that a stranger made."""

from __future__ import annotations

import pytest
from rich.console import Console

from mate_cli.reporting.answer import answer_line, marked_table
from mate_cli.tables.table import Cell, Table

NASTY = "\x1b]0;title\x07\x1b[2J[bold]paris[/bold]\r\n"
CELL = {"row": 0, "column": 0, "header": NASTY, "text": NASTY, "probability": 1.0}


@pytest.mark.parametrize("marked", [[], [CELL]])
def test_no_cell_steers_the_terminal(marked: list[dict[str, object]]) -> None:
    table = Table("t", (Cell(NASTY),), ((Cell(NASTY),),), title=NASTY)
    console = Console(width=200, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(marked_table(table, marked))
        console.print(answer_line({"answer": NASTY, "cells": [CELL]}), markup=False, highlight=False)
    shown = captured.get()
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
    assert shown.count("[bold]paris[/bold]") >= 4
