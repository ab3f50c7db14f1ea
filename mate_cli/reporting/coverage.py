"""Coverage of bucketed attention as tables for the terminal, as Markdown, as a picture."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli import __version__
from mate_cli.analysis.coverage import KINDS, Counts, Group, coverage_record
from mate_cli.attention import Buckets
from mate_cli.reporting.markdown_table import markdown_table
from mate_cli.runs.folder import written_to

CAPTION = (
    "Per cent of the pairs of table tokens of one row (row heads) or one column (column heads) that bucketed "
    "attention sees. exact: in all tables of the line the result is that of the dense mask."
)


def coverage_tables(counts: Counts) -> Iterator[RichTable]:
    """A table for each G: a line for each case, length and kind of head, a column for each R."""
    for global_size in _global_sizes(counts):
        head, rows = _grid(counts, global_size)
        table = RichTable(title=f"bucketed attention with G={global_size}")
        for name in head:
            table.add_column(name, justify="right")
        for row in rows:
            table.add_row(*row)
        yield table


def coverage_markdown(counts: Counts, command: Sequence[str]) -> str:
    """The same tables for a file, below the command that made them."""
    lines = [f"`{shlex.join(['mate', *command])}` (mate {__version__})", "", CAPTION]
    for global_size in _global_sizes(counts):
        head, rows = _grid(counts, global_size)
        lines += ["", f"G={global_size}", "", markdown_table(head, rows, right=head)]
    return "\n".join([*lines, ""])


def write_coverage(counts: Counts, folder: Path, command: Sequence[str]) -> None:
    """``coverage.json``, ``coverage.md`` and ``coverage.png``.

    Args:
        command: what was typed after ``mate``.

    Raises:
        UserError: the folder cannot be written.
    """
    with written_to(folder):
        numbers = json.dumps(coverage_record(counts), indent=1)
        (folder / "coverage.json").write_text(numbers + "\n", encoding="utf-8")
        (folder / "coverage.md").write_text(coverage_markdown(counts, command), encoding="utf-8")
        _draw(counts, folder / "coverage.png")


def _draw(counts: Counts, file: Path) -> None:
    """A panel for each kind of head and each R, at the smallest G: share against length, a line for each case."""
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
            panel.set(title=f"{kind} heads, G={buckets.global_size}, R={buckets.radius}", ylim=(-3, 103))
            panel.set_xscale("log", base=2)
            panel.grid(alpha=0.3)
        panels[0].set_ylabel("pairs seen, per cent")
    for panel in axes[-1]:
        panel.set_xlabel("tokens")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(file, dpi=90)


def _grid(counts: Counts, global_size: int) -> tuple[list[str], list[list[str]]]:
    radii = _radii(counts)
    head = ["tables", "tokens", "number", "heads", *(f"R={radius}" for radius in radii)]
    rows = []
    for case, tokens, kind in dict.fromkeys(group[:3] for group in counts):
        own = [counts[Group(case, tokens, kind, Buckets(global_size, radius))] for radius in radii]
        shares = ["exact" if c.exact == c.documents else f"{100 * c.share:.1f}" for c in own]
        rows.append([case, f"≤{tokens}", str(own[0].documents), kind, *shares])
    return head, rows


def _global_sizes(counts: Counts) -> list[int]:
    return list(dict.fromkeys(group.buckets.global_size for group in counts))


def _radii(counts: Counts) -> list[int]:
    return list(dict.fromkeys(group.buckets.radius for group in counts))
