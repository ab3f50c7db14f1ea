"""The answer to one question: the table with its likeliest cells marked, or the same as plain data."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from mate_cli.tables.aggregation import NONE
from mate_cli.tables.table import Table
from mate_cli.tasks.pointr import ReadCell, choose

_MAX_ROWS = 40
_STYLES = ("bold black on green", "bold black on yellow", "black on bright_cyan")


def read_answer_record(record: Mapping[str, Any], cells: Sequence[ReadCell], weight: float) -> dict[str, Any]:
    """Add to ``mate_cli.kinds.cell_selection.answer_record`` a reader's span of each cell; answer from the chosen one.

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


def printable(text: str) -> str:
    """A text of a table for the terminal, which control characters in it could steer."""
    return "".join(" " if unicodedata.category(letter) == "Cc" else letter for letter in text)


def answer_line(record: Mapping[str, Any]) -> str:
    """The answer of a record in a line, with what it is made of and how sure the model is of it."""
    return printable(_answer_line(record))


def _answer_line(record: Mapping[str, Any]) -> str:
    if "operator" in record:
        return f"answer: {', '.join(record['answer']) or 'none'}  ({_made_of(record)})"
    if "probability" in record:
        return f"answer: {record['answer']}  (probability {record['probability']:.2f})"
    best = record["cells"][record.get("chosen", 0)]
    place = f"{best['header']}, row {best['row']}"
    if "span" not in best:
        return f"answer: {record['answer']}  ({place}; probability {best['probability']:.2f})"
    sure = f"probability of the cell {best['probability']:.2f}, of the words {best['span_probability']:.2f}"
    return f"answer: {record['answer']}  (read from {place}; {sure})"


def marked_table(table: Table, cells: Sequence[Mapping[str, Any]]) -> RichTable:
    """The table for the terminal: ``cells`` of a record carry their rank and probability.

    A long table shows the rows that hold marked cells and the first ones, in their order.
    """
    rank = {(cell["row"], cell["column"]): number for number, cell in enumerate(cells)}
    shown = _rows_to_show(table, {row for row, _ in rank})
    out = RichTable(title=Text(printable(table.title)) if table.title else None, show_lines=False)
    out.add_column("row", justify="right", style="dim")
    for cell in table.header:
        out.add_column(Text(printable(cell.text)), overflow="fold")
    for row in shown:
        texts = [
            _cell_text(printable(cell.text), rank.get((row, column)), cells)
            for column, cell in enumerate(table.rows[row])
        ]
        out.add_row(Text(str(row)), *texts)
    if len(shown) < table.num_rows:
        out.caption = f"{len(shown)} of {table.num_rows} rows shown"
    return out


def _made_of(record: Mapping[str, Any]) -> str:
    count = len(record["cells"])
    cells = "1 cell" if count == 1 else f"{count} cells"
    columns = " and ".join(dict.fromkeys(cell["header"] for cell in record["cells"] if cell["header"]))
    place = f"{cells} of {columns}" if columns else cells
    if record["operator"] == NONE.name:
        return place
    return f"{record['operator'].lower()} of {place}; probability of the operator {record['operator_probability']:.2f}"


def _rows_to_show(table: Table, marked: set[int]) -> list[int]:
    rest = [row for row in range(table.num_rows) if row not in marked]
    return sorted([*marked, *rest[: max(0, _MAX_ROWS - len(marked))]])


def _cell_text(text: str, rank: int | None, cells: Sequence[Mapping[str, Any]]) -> Text:
    # Text, not markup: a cell may hold square brackets.
    if rank is None:
        return Text(text)
    label = f" #{rank + 1} {100 * cells[rank]['probability']:.1f}%"
    return Text(text, style=_STYLES[min(rank, len(_STYLES) - 1)]) + Text(label, style="bold")
