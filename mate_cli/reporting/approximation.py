"""The approximation error of tiny networks by depth: a table for the terminal, JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli import __version__
from mate_cli.analysis.approximation import Fit
from mate_cli.reporting.grid import terminal_table, write_analysis


def approximation_table(fits: Sequence[Fit]) -> RichTable:
    """One line for each depth, one column for each map."""
    by_depth = {depth: [fit.error for fit in fits if fit.depth == depth] for depth in {fit.depth: 0 for fit in fits}}
    maps = [f"map {seed}" for seed in range(max(map(len, by_depth.values())))]
    rows = [
        [str(depth), *(f"{error:.3f}" for error in [*errors, sum(errors) / len(errors)])]
        for depth, errors in by_depth.items()
    ]
    titles = {"title": "error of a tiny MATE on random maps", "caption": "1: no better than a constant"}
    return terminal_table(["layers", *maps, "mean"], rows, left=(), **titles)


def write_approximation(fits: Sequence[Fit], folder: Path, command: Sequence[str]) -> None:
    """Write ``approximation.json``: the command (the arguments after ``mate``) and each error."""
    made = f"{shlex.join(['mate', *command])} (mate {__version__})"
    write_analysis(folder, "approximation", {"command": made, "fits": [fit._asdict() for fit in fits]})
