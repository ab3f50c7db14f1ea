"""Accuracy by group of questions: a table for the terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli.analysis.breakdown import Breakdown
from mate_cli.kinds.accuracy import percent, percent_interval
from mate_cli.reporting.grid import TextTable, markdown_page, terminal_table, write_analysis

CAPTION = (
    "Per cent, with 95% intervals, each by itself: of so many groups some are high or low by chance. A question that "
    "did not fit counts as wrong."
)


def breakdown_table(title: str, result: Breakdown) -> RichTable:
    """One line for each group of questions."""
    grid = _grid(result)
    return terminal_table(grid.head, grid.rows, left=grid.head[:2], title=title)


def write_breakdown(title: str, result: Breakdown, folder: Path, command: Sequence[str]) -> None:
    """Write ``breakdown.json`` and ``breakdown.md``; ``command`` is the arguments after ``mate``."""
    grid = _grid(result)
    page = markdown_page(command, f"{title}. {CAPTION}", [grid], right=grid.head[2:])
    write_analysis(folder, "breakdown", asdict(result), page)


def _grid(result: Breakdown) -> TextTable:
    rows: list[list[str]] = []
    for group, before in zip(result.groups, (None, *result.groups), strict=False):
        by = "" if before is not None and before.by == group.by else group.by
        interval = percent_interval(group.accuracy.low, group.accuracy.high)
        rows.append([by, group.name, str(group.questions), percent(group.accuracy.mean), interval])
    return TextTable("", ["questions by", "", "number", result.measure, "interval"], rows)
