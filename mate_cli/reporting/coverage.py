"""Coverage of bucketed attention: tables for the terminal, Markdown, JSON, a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli.analysis.coverage import KINDS, Counts, Group, coverage_record
from mate_cli.attention import Buckets
from mate_cli.reporting.grid import TextTable, markdown_page, terminal_table, write_analysis

CAPTION = (
    "Per cent of the pairs of table tokens of one row (row heads) or one column (column heads) that bucketed "
    "attention sees. exact: in all tables of the line the result is that of the dense mask."
)


def coverage_tables(counts: Counts) -> Iterator[RichTable]:
    """One table for each G: a line for each case, length and kind of head, a column for each R."""
    for grid in _grids(counts):
        yield terminal_table(grid.head, grid.rows, left=(), title=f"bucketed attention with {grid.title}")


def coverage_markdown(counts: Counts, command: Sequence[str]) -> str:
    grids = list(_grids(counts))
    return markdown_page(command, CAPTION, grids, right=grids[0].head)


def write_coverage(counts: Counts, folder: Path, command: Sequence[str]) -> None:
    """Write ``coverage.json``, ``coverage.md`` and ``coverage.png``; ``command`` is the arguments after ``mate``."""
    page = coverage_markdown(counts, command)
    write_analysis(folder, "coverage", coverage_record(counts), page, partial(_draw, counts))


def _draw(counts: Counts, file: Path) -> None:
    """Plot share against length at the smallest G: one panel for each kind of head and R, one line for each case."""
    from matplotlib.figure import Figure

    settings = [Buckets(min(_global_sizes(counts)), radius) for radius in _radii(counts)]
    figure = Figure(figsize=(2.6 * len(settings) + 1, 5), layout="constrained")
    axes = figure.subplots(len(KINDS), len(settings), sharex=True, sharey=True, squeeze=False)
    for kind, panels in zip(KINDS, axes, strict=True):
        for buckets, panel in zip(settings, panels, strict=True):
            for case in dict.fromkeys(group.case for group in counts):
                lengths = [g.tokens for g in counts if g == Group(case, g.tokens, kind, buckets)]
                shares = [100 * counts[Group(case, tokens, kind, buckets)].share for tokens in lengths]
                panel.plot(lengths, shares, marker=".", label=case)
            panel.set(title=f"{kind} heads, R={buckets.radius}", ylim=(-3, 103))
            panel.set_xscale("log", base=2)
            panel.set_xticks(lengths, [str(tokens) for tokens in lengths], rotation=45)
            panel.grid(alpha=0.3)
        panels[0].set_ylabel("pairs seen, per cent")
    for panel in axes[-1]:
        panel.set_xlabel("tokens")
    figure.suptitle(f"G={settings[0].global_size}")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(file, dpi=90)


def _grids(counts: Counts) -> Iterator[TextTable]:
    radii = _radii(counts)
    head = ["tables", "tokens", "number", "heads", *(f"R={radius}" for radius in radii)]
    for global_size in _global_sizes(counts):
        rows = []
        for case, tokens, kind in dict.fromkeys(group[:3] for group in counts):
            line = [counts[Group(case, tokens, kind, Buckets(global_size, radius))] for radius in radii]
            shares = ["exact" if c.exact == c.documents else f"{100 * c.share:.1f}" for c in line]
            rows.append([case, f"≤{tokens}", str(line[0].documents), kind, *shares])
        yield TextTable(f"G={global_size}", head, rows)


def _global_sizes(counts: Counts) -> list[int]:
    return list(dict.fromkeys(group.buckets.global_size for group in counts))


def _radii(counts: Counts) -> list[int]:
    return list(dict.fromkeys(group.buckets.radius for group in counts))
