"""Comparisons of runs: a table for the terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.cells import cell_len
from rich.table import Table as RichTable

from mate_cli.analysis.compare import ComparedRun
from mate_cli.reporting.grid import TextTable, markdown_page, terminal_table, write_analysis

_LONGEST = 28  # columns of a terminal; longer settings are broken

CAPTION = (
    "Per cent; below it the difference from the first run, question by question, with its 95% bootstrap interval, "
    "starred where that leaves out 0. The interval covers the choice of questions, not other seeds."
)


def compare_table(title: str, runs: Sequence[ComparedRun]) -> RichTable:
    """One line for each run, one column for each measure."""
    grid = _grid(runs)
    table = terminal_table(grid.head, grid.rows, left=grid.head, title=title, caption=CAPTION, show_lines=True)
    for column in table.columns:
        column.min_width = 8
    table.columns[1].no_wrap = all(cell_len(line) <= _LONGEST for run in runs for line in _lines(run))
    return table


def write_comparison(title: str, runs: Sequence[ComparedRun], folder: Path, command: Sequence[str]) -> None:
    """Write ``compare.json`` and ``compare.md``; ``command`` is the arguments after ``mate``."""
    page = markdown_page(command, f"{title}. {CAPTION}", [_grid(runs)])
    write_analysis(folder, "compare", [asdict(run) for run in runs], page)


def _grid(runs: Sequence[ComparedRun]) -> TextTable:
    rows = []
    for run in runs:
        name = f"{run.name} ({run.unread} not read)" if run.unread else run.name
        rows.append([name, "\n".join(_lines(run)), *(_cell(run, measure) for measure in run.measures)])
    return TextTable("", ["run", "differs in", *runs[0].measures], rows)


def _lines(run: ComparedRun) -> list[str]:
    """The differences of a run from the first, as words of a command line."""
    ablation = [] if run.ablation == "none" else [f"ablation={run.ablation}"]
    return [*ablation, *(f"{key}={value}" for key, value in run.settings.items())]


def _cell(run: ComparedRun, measure: str) -> str:
    text = f"{100 * run.measures[measure].mean:.1f}"
    if measure not in run.differences:
        return text
    difference = run.differences[measure]
    mean, low, high = (100 * value for value in (difference.mean, difference.low, difference.high))
    return f"{text}\n{mean:+.1f}{'*' if low > 0 or high < 0 else ''} ({low:+.1f} to {high:+.1f})"
