"""Error analyses (paper section 7): tables for the terminal, and sheets to annotate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable

from mate_cli.analysis.errors import BLAMED, MISTAKES, Errors, TableErrors, WrongAnswer, WrongTableAnswer
from mate_cli.kinds.cell_selection import cell_record
from mate_cli.kinds.entailment import LABELS
from mate_cli.metrics.near_miss import MISSES, NEAR
from mate_cli.reporting.error_page import error_page
from mate_cli.reporting.grid import terminal_table
from mate_cli.runs.folder import written_to
from mate_cli.system.errors import UserError
from mate_cli.system.files import read_json_lines, write_json_lines, write_text

CAPTION = (
    "near: lexical near-misses. Classes are given by rule, the paper's by hand, to 100 wrong answers of its own; "
    "there numbers are about 30% of the near-misses, extra or missing words 58%."
)
PAPER_NEAR = 0.55
"""Share of near-misses among the wrong answers that the paper looked at (section 7)."""

TO_ANNOTATE = ("near_miss", "class", "same_entity_type", "more_than_two_hops", "blamed", "note")
"""Fields of a sheet that a person fills in; of a sheet on tables alone, ``TABLE_TO_ANNOTATE``."""

TABLE_TO_ANNOTATE = ("class", "note")

_TEXTS = ("class", "what it is", "stage", "mistake", "what happened")


def miss_table(errors: Errors) -> RichTable | None:
    """Classes with their shares of the sample and of the near-misses; None for a selector alone."""
    if not errors.read:
        return None
    counts = Counter(answer.miss for answer in errors.sample if answer.miss is not None)
    total, near = counts.total(), sum(counts[miss] for miss in NEAR)
    rows = []
    for miss, meaning in MISSES.items():
        of_near = _percent(counts[miss], near) if miss in NEAR else ""
        rows.append([miss, meaning, str(counts[miss]), _percent(counts[miss], total), of_near, ""])
    rows.append(["near", "the first four", str(near), _percent(near, total), "", f"{100 * PAPER_NEAR:.0f}%"])
    title = f"how near: {total} of {errors.wrong} wrong answers"
    head = ["class", "what it is", "number", "share", "of the near", "paper"]
    return terminal_table(head, rows, _TEXTS, title=title, caption=CAPTION)


def blame_table(errors: Errors) -> RichTable:
    """The stages at fault, with their shares of the sample."""
    shown = {stage: text for stage, text in BLAMED.items() if errors.read or not stage.startswith("reader")}
    title = f"to blame: {len(errors.sample)} of {errors.wrong} wrong answers"
    return _share_table("stage", shown, Counter(answer.blamed for answer in errors.sample), title)


def mistake_table(errors: TableErrors) -> RichTable:
    """The mistakes in answers to questions on tables alone, with their shares of the sample."""
    counts = Counter(answer.mistake for answer in errors.sample)
    title = f"wrong: {len(errors.sample)} of {errors.wrong} wrong answers to {errors.questions} questions"
    return _share_table("mistake", {name: text for name, text in MISTAKES.items() if counts[name]}, counts, title)


def _share_table(name: str, meanings: Mapping[Any, str], counts: Counter[Any], title: str) -> RichTable:
    rows = [[key, text, str(counts[key]), _percent(counts[key], counts.total())] for key, text in meanings.items()]
    return terminal_table([name, "what happened", "number", "share"], rows, _TEXTS, title=title)


def write_errors(errors: Errors, folder: Path, title: str) -> None:
    """Write ``errors.jsonl``, a sheet to annotate, and ``errors.html``.

    Raises:
        UserError: the folder cannot be written, or holds a sheet that somebody has filled in.
    """
    with written_to(folder):
        _write_sheet(folder / "errors.jsonl", map(_sheet_line, errors.sample))
        write_text(folder / "errors.html", error_page(errors, title))


def write_table_errors(errors: TableErrors, folder: Path) -> None:
    """Write ``errors.jsonl`` alone, as ``write_errors``."""
    with written_to(folder):
        _write_sheet(folder / "errors.jsonl", map(_table_sheet_line, errors.sample))


def _sheet_line(answer: WrongAnswer) -> dict[str, Any]:
    example = answer.example
    return {
        "id": example.id,
        "table_id": example.table.id,
        "question": example.question,
        "gold": list(example.answers or ()),
        "prediction": answer.prediction,
        "f1": answer.f1,
        "class": answer.miss,
        "blamed": answer.blamed,
        "cell": None if answer.chosen is None else cell_record(example.table, answer.chosen),
        "candidates": [list(place) for place in example.candidates],
        "annotation": dict.fromkeys(TO_ANNOTATE),
    }


def _table_sheet_line(answer: WrongTableAnswer) -> dict[str, Any]:
    example, record = answer.example, answer.record or {}
    gold = LABELS[example.label] if example.label is not None else list(example.answers or ())
    return {
        "id": example.id,
        "table_id": example.table.id,
        "question": example.question,
        "gold": gold,
        "gold_cells": [cell_record(example.table, place) for place in example.candidates],
        "prediction": list(answer.prediction),
        "operator": record.get("aggregation"),
        "cells": [cell_record(example.table, place) for place in answer.cells],
        "probability": record.get("probability"),
        "mistake": answer.mistake,
        "annotation": dict.fromkeys(TABLE_TO_ANNOTATE),
    }


def _write_sheet(sheet: Path, lines: Iterable[dict[str, Any]]) -> None:
    if sheet.is_file() and _is_annotated(sheet):
        raise UserError(f"{sheet} has annotations; write elsewhere with to=FOLDER")
    write_json_lines(sheet, lines)


def _is_annotated(sheet: Path) -> bool:
    """True if a field to annotate is filled in, or if the file is not a sheet of ours."""
    try:
        return any(value is not None for row in read_json_lines(sheet) for value in row["annotation"].values())
    except (ValueError, LookupError, TypeError, AttributeError):
        return True


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else ""
