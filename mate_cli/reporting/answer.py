"""The answer to one question: the table with its likeliest cells marked, or the same as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from mate_cli.tables.table import Table
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.pointr import ReadCell, choose

_MAX_ROWS = 40
_STYLES = ("bold black on green", "bold black on yellow", "black on bright_cyan")


def answer_record(question: str, table: Table, prediction: CellPrediction, top: int) -> dict[str, Any]:
    """The best ``top`` cells, rows and columns counted from 0 (the header is no row), and how sure the model is.

    ``margin`` is the lead of the first cell over the second.
    """
    pairs = list(zip(prediction.cells, prediction.probabilities, strict=True))
    cells = [
        {
            "row": row,
            "column": column,
            "header": table.header[column].text,
            "text": table.rows[row][column].text,
            "probability": round(probability, 6),
        }
        for (row, column), probability in pairs[:top]
    ]
    second = prediction.probabilities[1] if len(pairs) > 1 else 0.0
    return {
        "question": question,
        "table": table.id,
        "answer": cells[0]["text"],
        "margin": round(prediction.probabilities[0] - second, 6),
        "cells": cells,
    }


def read_answer_record(record: Mapping[str, Any], cells: Sequence[ReadCell], weight: float) -> dict[str, Any]:
    """``answer_record`` with what a reader found: a span for each cell, and the answer from the chosen one.

    ``start`` and ``end`` count characters of the cell's reading text, its own text and the passages it links to;
    ``joint`` is p(cell) * p(span | cell)^weight; ``chosen`` is a place in ``cells``.
    """
    spans = [
        {
            "span": cell.span,
            "start": cell.start,
            "end": cell.end,
            "span_probability": round(cell.span_probability, 6),
            "joint": cell.joint(weight),
        }
        for cell in cells
    ]
    chosen = choose(cells, weight)
    joined = [{**own, **span} for own, span in zip(record["cells"], spans, strict=True)]
    return {**record, "answer": "" if chosen is None else cells[chosen].span, "chosen": chosen, "cells": joined}


def marked_table(table: Table, prediction: CellPrediction, top: int) -> RichTable:
    """The table for the terminal: the best ``top`` cells carry their rank and probability.

    A long table shows the rows that hold marked cells and the first ones, in their order.
    """
    rank = {cell: number for number, cell in enumerate(prediction.cells[:top])}
    shown = _rows_to_show(table, {row for row, _ in rank})
    out = RichTable(title=Text(table.title) if table.title else None, show_lines=False)
    out.add_column("row", justify="right", style="dim")
    for cell in table.header:
        out.add_column(Text(cell.text), overflow="fold")
    for row in shown:
        texts = [
            _cell_text(cell.text, rank.get((row, column)), prediction) for column, cell in enumerate(table.rows[row])
        ]
        out.add_row(Text(str(row)), *texts)
    if len(shown) < table.num_rows:
        out.caption = f"{len(shown)} of {table.num_rows} rows shown"
    return out


def _rows_to_show(table: Table, marked: set[int]) -> list[int]:
    rest = [row for row in range(table.num_rows) if row not in marked]
    return sorted([*marked, *rest[: max(0, _MAX_ROWS - len(marked))]])


def _cell_text(text: str, rank: int | None, prediction: CellPrediction) -> Text:
    # Text, not markup: a cell may hold square brackets.
    if rank is None:
        return Text(text)
    label = f" #{rank + 1} {100 * prediction.probabilities[rank]:.1f}%"
    return Text(text, style=_STYLES[min(rank, len(_STYLES) - 1)]) + Text(label, style="bold")
