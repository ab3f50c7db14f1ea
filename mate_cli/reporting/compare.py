"""Compared runs as a table for the terminal, as Markdown, as numbers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table as RichTable
from rich.text import Text

from mate_cli import __version__
from mate_cli.analysis.compare import ComparedRun
from mate_cli.metrics.statistics import Interval
from mate_cli.reporting.markdown_table import markdown_table
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_text

CAPTION = (
    "Per cent; below it the difference from the first run, question by question, with its 95% bootstrap interval, "
    "starred where that leaves out 0. The interval knows nothing of other seeds."
)


def compare_table(title: str, runs: Sequence[ComparedRun]) -> RichTable:
    """A line for each run, a column for each measure."""
    table = RichTable(title=title, caption=CAPTION, show_lines=True)
    for name in _head(runs):
        table.add_column(name, overflow="fold", min_width=8)
    for row in _rows(runs):
        table.add_row(*map(Text, row))
    return table


def write_comparison(title: str, runs: Sequence[ComparedRun], folder: Path, command: Sequence[str]) -> None:
    """``compare.json`` and ``compare.md``.

    Args:
        command: what was typed after ``mate``.

    Raises:
        UserError: the folder cannot be written.
    """
    lines = [f"`{shlex.join(['mate', *command])}` (mate {__version__})", "", f"{title}. {CAPTION}", ""]
    lines.append(markdown_table(_head(runs), list(_rows(runs))))
    with written_to(folder):
        write_text(folder / "compare.json", json.dumps([asdict(run) for run in runs], indent=1) + "\n")
        write_text(folder / "compare.md", "\n".join([*lines, ""]))


def _head(runs: Sequence[ComparedRun]) -> list[str]:
    return ["run", "ablation", *runs[0].measures]


def _rows(runs: Sequence[ComparedRun]) -> list[list[str]]:
    return [[_name(run), run.ablation, *(_cell(run, name) for name in run.measures)] for run in runs]


def _name(run: ComparedRun) -> str:
    return f"{run.name} ({run.unread} not read)" if run.unread else run.name


def _cell(run: ComparedRun, name: str) -> str:
    mean = f"{100 * run.measures[name].mean:.1f}"
    return f"{mean}\n{_difference(run.differences[name])}" if run.differences else mean


def _difference(interval: Interval) -> str:
    mean, low, high = (100 * value for value in (interval.mean, interval.low, interval.high))
    mark = "*" if low > 0 or high < 0 else ""
    return f"{mean:+.1f}{mark} ({low:+.1f} to {high:+.1f})"
