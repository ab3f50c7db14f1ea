"""An error analysis as tables for the terminal, a sheet to annotate, and a page to read beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.table import Table as RichTable

from mate_cli.analysis.errors import BLAMED, Errors, WrongAnswer
from mate_cli.metrics.near_miss import MISSES, NEAR
from mate_cli.reporting.error_page import error_page
from mate_cli.runs.folder import written_to
from mate_cli.system.errors import UserError
from mate_cli.system.files import read_json_lines, write_json_lines, write_text

CAPTION = (
    "near: lexical near-misses. Classes are given by rule, the paper's by hand, to 100 wrong answers of its own; "
    "there numbers are about 30% of the near-misses, extra or missing words 58%."
)
PAPER_NEAR = 0.55
"""Share of near-misses among the wrong answers that the paper looked at (checklist 106)."""

TO_ANNOTATE = ("near_miss", "class", "same_entity_type", "more_than_two_hops", "blamed", "note")


def miss_table(errors: Errors) -> RichTable | None:
    """Classes with their shares of the sample and of the near-misses; None of a selector alone."""
    counts = Counter(answer.miss for answer in errors.sample if answer.miss is not None)
    total, near = counts.total(), sum(counts[miss] for miss in NEAR)
    if not errors.read:
        return None
    table = RichTable(title=f"how near: {total} of {errors.wrong} wrong answers", caption=CAPTION)
    for name in ("class", "what it is", "number", "share", "of the near", "paper"):
        table.add_column(name, justify="left" if name in ("class", "what it is") else "right")
    for miss, meaning in MISSES.items():
        of_near = percent(counts[miss], near) if miss in NEAR else ""
        table.add_row(miss, meaning, str(counts[miss]), percent(counts[miss], total), of_near, "")
    table.add_row("near", "the first four", str(near), percent(near, total), "", f"{100 * PAPER_NEAR:.0f}%")
    return table


def blame_table(errors: Errors) -> RichTable:
    """Which stage is to blame, with the shares of the sample."""
    counts = Counter(answer.blamed for answer in errors.sample)
    table = RichTable(title=f"to blame: {len(errors.sample)} of {errors.wrong} wrong answers")
    for name in ("stage", "what happened", "number", "share"):
        table.add_column(name, justify="right" if name in ("number", "share") else "left")
    for stage, meaning in BLAMED.items():
        if stage.startswith("reader") and not errors.read:
            continue
        table.add_row(stage, meaning, str(counts[stage]), percent(counts[stage], len(errors.sample)))
    return table


def sheet_line(answer: WrongAnswer) -> dict[str, Any]:
    """One wrong answer with what the rules say of it, and fields for a person to fill in."""
    example, cell = answer.example, None
    if answer.chosen is not None:
        row, column = answer.chosen
        header, text = example.table.header[column].text, example.table.rows[row][column].text
        cell = {"row": row, "column": column, "header": header, "text": text}
    return {
        "id": example.id,
        "table_id": example.table.id,
        "question": example.question,
        "gold": list(example.answers or ()),
        "prediction": answer.prediction,
        "f1": answer.f1,
        "class": answer.miss,
        "blamed": answer.blamed,
        "cell": cell,
        "candidates": [list(place) for place in example.candidates],
        "annotation": dict.fromkeys(TO_ANNOTATE),
    }


def write_errors(errors: Errors, folder: Path, title: str) -> None:
    """``errors.jsonl`` and ``errors.html``.

    Raises:
        UserError: the folder cannot be written, or holds a sheet that somebody has filled in.
    """
    with written_to(folder):
        write_sheet(folder / "errors.jsonl", map(sheet_line, errors.sample))
        write_text(folder / "errors.html", error_page(errors, title))


def write_sheet(sheet: Path, lines: Iterable[dict[str, Any]]) -> None:
    """A sheet to annotate, one line a wrong answer.

    Raises:
        UserError: there is one that somebody has filled in.
    """
    if sheet.is_file() and _is_annotated(sheet):
        raise UserError(f"{sheet} has annotations; write elsewhere with to=FOLDER")
    write_json_lines(sheet, lines)


def _is_annotated(sheet: Path) -> bool:
    """Whether some field to fill in is filled in; a file that is not ours counts as if."""
    try:
        return any(value is not None for row in read_json_lines(sheet) for value in row["annotation"].values())
    except (ValueError, LookupError, TypeError, AttributeError):
        return True


def percent(part: int, whole: int) -> str:
    """A share for a table; nothing where there is no whole."""
    return f"{100 * part / whole:.0f}%" if whole else ""
