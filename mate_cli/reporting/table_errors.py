"""Wrong answers to questions on tables alone: a table for the terminal, and a sheet to annotate."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable

from mate_cli.analysis.table_errors import MISTAKES, TableErrors, WrongTableAnswer
from mate_cli.reporting.errors import percent, write_sheet
from mate_cli.runs.folder import written_to
from mate_cli.tables.table import Coordinate, Example

TO_ANNOTATE = ("class", "note")


def mistake_table(errors: TableErrors) -> RichTable:
    """What is wrong, with the shares of the sample; what occurs nowhere in it is left out."""
    counts, total = Counter(answer.mistake for answer in errors.sample), len(errors.sample)
    table = RichTable(title=f"wrong: {total} of {errors.wrong} wrong answers to {errors.questions} questions")
    for name in ("mistake", "what happened", "number", "share"):
        table.add_column(name, justify="right" if name in ("number", "share") else "left")
    for mistake, meaning in MISTAKES.items():
        if counts[mistake]:
            table.add_row(mistake, meaning, str(counts[mistake]), percent(counts[mistake], total))
    return table


def table_sheet_line(answer: WrongTableAnswer) -> dict[str, Any]:
    """One wrong answer with what the rules say of it, and fields for a person to fill in."""
    example, record = answer.example, answer.record or {}
    gold = ["refuted", "entailed"][example.label] if example.label is not None else list(example.answers or ())
    return {
        "id": example.id,
        "table_id": example.table.id,
        "question": example.question,
        "gold": gold,
        "gold_cells": _cells(example, example.candidates),
        "prediction": list(answer.prediction),
        "operator": record.get("aggregation"),
        "cells": _cells(example, answer.cells),
        "probability": record.get("probability"),
        "mistake": answer.mistake,
        "annotation": dict.fromkeys(TO_ANNOTATE),
    }


def write_table_errors(errors: TableErrors, folder: Path) -> None:
    """``errors.jsonl``.

    Raises:
        UserError: the folder cannot be written, or holds a sheet that somebody has filled in.
    """
    with written_to(folder):
        write_sheet(folder / "errors.jsonl", map(table_sheet_line, errors.sample))


def _cells(example: Example, places: tuple[Coordinate, ...]) -> list[dict[str, Any]]:
    header, rows = example.table.header, example.table.rows
    return [
        {"row": row, "column": column, "header": header[column].text, "text": rows[row][column].text}
        for row, column in places
    ]
