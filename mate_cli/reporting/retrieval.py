"""Recall of the search for tables: a table for the terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli.analysis.retrieval import DEPTHS, Recall, Retrieval
from mate_cli.metrics.statistics import Interval
from mate_cli.reporting.grid import TextTable, markdown_page, terminal_table, write_analysis

CAPTION = (
    "Per cent of the questions whose table is the first, or among the first five, with its 95% interval; below it the "
    "difference from words alone. Questions about one table are drawn together."
)


def retrieval_table(name: str, retrieval: Retrieval) -> RichTable:
    """One line for each way of searching, one column for each depth."""
    grid = _grid(retrieval)
    title = _title(name, retrieval)
    return terminal_table(grid.head, grid.rows, left=grid.head, title=title, caption=CAPTION, show_lines=True)


def write_retrieval(name: str, retrieval: Retrieval, folder: Path, command: Sequence[str]) -> None:
    """Write ``retrieval.json`` and ``retrieval.md``; ``command`` is the arguments after ``mate``."""
    page = markdown_page(command, f"{_title(name, retrieval)}. {CAPTION}", [_grid(retrieval)])
    write_analysis(folder, "retrieval", asdict(retrieval), page)


def _title(name: str, retrieval: Retrieval) -> str:
    return (
        f"{name}: {retrieval.questions:,} questions about {retrieval.asked:,} tables, searched for among "
        f"{retrieval.tables:,}"
    )


def _grid(retrieval: Retrieval) -> TextTable:
    rows = [[recall.way, *(_cell(recall, depth) for depth in DEPTHS)] for recall in retrieval.recalls]
    return TextTable("", ["search by", *(f"recall@{depth}" for depth in DEPTHS)], rows)


def _cell(recall: Recall, depth: int) -> str:
    text = _shown(recall.found[depth], "")
    return f"{text}\n{_shown(recall.more[depth], '+')}" if depth in recall.more else text


def _shown(interval: Interval, sign: str) -> str:
    mean, low, high = (100 * value for value in (interval.mean, interval.low, interval.high))
    return f"{mean:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"
