"""A table for the terminal with the likeliest cells marked; of a large one, what is near to them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from mate_cli.tables.table import Coordinate, Table

_WHOLE_ROWS = 20
_MAX_ROWS = 40
_LONG_CELL, _LONG_MARKED = 24, 40
_BORDER = 3  # a line and two blanks around each column
_GAP = "…"
_JOINERS = "\u200c\u200d"
_STYLES = ("bold black on green", "bold black on yellow", "black on bright_cyan")


def printable(text: str) -> str:
    """A text of a table for the terminal, which control characters in it could steer, or show in another order.

    Those that format a text are left out, but for the joiners of Persian and of emoji.
    """
    kinds = ((letter, unicodedata.category(letter)) for letter in text)
    return "".join(
        " " if kind in ("Cc", "Zl", "Zp") else letter for letter, kind in kinds if kind != "Cf" or letter in _JOINERS
    )


def marked_table(table: Table, cells: Sequence[Mapping[str, Any]], width: int) -> RichTable:
    """Draw the table with the cells of a record marked by rank and probability.

    A table of more than ``_WHOLE_ROWS`` rows shows those with marked cells, their neighbours and the first ones. One
    that is wider than ``width`` has its long cells cut, and then shows the columns with marked cells, the first, and
    those nearest to them. What is left out leaves "…" in its place.
    """
    marks = {(cell["row"], cell["column"]): _label(rank, cell) for rank, cell in enumerate(cells)}
    rows = _rows_to_show(table.num_rows, [row for row, _ in marks])
    columns: Sequence[int] = range(table.num_columns)
    widths = _widths(table, rows, marks)
    room = width - 1 - max(len("row"), len(str(rows[-1]))) - _BORDER
    is_cut = sum(widths) > room
    if is_cut:
        widths = _widths(table, rows, marks, is_cut)
        columns = _columns_to_show(widths, [column for _, column in marks], room)
    return _drawn(table, marks, rows, columns, is_cut)


def _rows_to_show(count: int, marked: Iterable[int]) -> list[int]:
    """All rows of a short table; else those of the best cells with a neighbour on either side, then the first ones."""
    if count <= _WHOLE_ROWS:
        return list(range(count))
    near = [row for place in dict.fromkeys(marked) for row in (place, place - 1, place + 1) if 0 <= row < count]
    return sorted(list(dict.fromkeys([*near, 0, 1]))[:_MAX_ROWS])


def _columns_to_show(widths: Sequence[int], marked: Iterable[int], room: int) -> list[int]:
    """The columns of the best cells, the first, then the nearest to the best cell, as far as they fit; one at least."""
    best = list(dict.fromkeys(marked)) or [0]
    nearest = sorted(range(len(widths)), key=lambda column: abs(column - best[0]))
    shown: list[int] = []
    for column in dict.fromkeys([*best, 0, *nearest]):
        candidate = sorted([*shown, column])
        if not shown or sum(widths[c] for c in candidate) + _gap_width(candidate, len(widths)) <= room:
            shown = candidate
    return shown


def _gap_width(columns: Sequence[int], count: int) -> int:
    """Characters of the columns that stand for those left out."""
    return (1 + _BORDER) * sum(after - before > 1 for before, after in pairwise([-1, *columns, count]))


def _widths(table: Table, rows: Sequence[int], marks: Mapping[Coordinate, str], is_cut: bool = False) -> list[int]:
    """The characters of each column on its widest line, with its border."""
    return [
        max(
            cell_len(_shortened(printable(header.text), _LONG_CELL, is_cut)),
            *(cell_len(_cell(table, row, column, marks, is_cut).plain) for row in rows),
        )
        + _BORDER
        for column, header in enumerate(table.header)
    ]


def _cell(table: Table, row: int, column: int, marks: Mapping[Coordinate, str], is_cut: bool) -> Text:
    """The text of a body cell, styled where it is marked; ``Text``, not markup, for it may hold square brackets."""
    text, label = printable(table.rows[row][column].text), marks.get((row, column))
    if label is None:
        return Text(_shortened(text, _LONG_CELL, is_cut))
    rank = list(marks).index((row, column))
    style = _STYLES[min(rank, len(_STYLES) - 1)]
    return Text(_shortened(text, _LONG_MARKED, is_cut), style=style) + Text(label, style="bold")


def _label(rank: int, cell: Mapping[str, Any]) -> str:
    return f" #{rank + 1} {100 * cell['probability']:.1f}%"


def _shortened(text: str, limit: int, is_cut: bool) -> str:
    return f"{text[: limit - 1]}{_GAP}" if is_cut and len(text) > limit else text


def _drawn(
    table: Table, marks: Mapping[Coordinate, str], rows: Sequence[int], columns: Sequence[int], is_cut: bool
) -> RichTable:
    drawn = RichTable(title=Text(printable(table.title)) if table.title else None, show_lines=False)
    drawn.add_column("row", justify="right", style="dim")
    shown = _with_gaps(columns, table.num_columns)
    for column in shown:
        header = _GAP if column is None else _shortened(printable(table.header[column].text), _LONG_CELL, is_cut)
        drawn.add_column(Text(header), overflow="fold")
    for row in _with_gaps(rows, table.num_rows):
        texts = (
            Text(_GAP) if row is None or column is None else _cell(table, row, column, marks, is_cut)
            for column in shown
        )
        drawn.add_row(Text(_GAP if row is None else str(row)), *texts)
    counts = {"rows": (len(rows), table.num_rows), "columns": (len(columns), table.num_columns)}
    parts = [f"{part} of {whole} {name}" for name, (part, whole) in counts.items() if part < whole]
    if parts:
        drawn.caption = f"{' and '.join(parts)} shown"
    return drawn


def _with_gaps(places: Sequence[int], count: int) -> list[int | None]:
    """The places with None where some are left out, at the ends too."""
    shown: list[int | None] = []
    for before, place in pairwise([-1, *places]):
        shown += [place] if place - before == 1 else [None, place]
    return shown if not places or places[-1] == count - 1 else [*shown, None]
