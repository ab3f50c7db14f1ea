"""The error of tiny networks by depth, as a table and as numbers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli import __version__
from mate_cli.analysis.approximation import Fit
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_text


def approximation_table(fits: Sequence[Fit]) -> RichTable:
    """A line for each depth, a column for each map."""
    by_depth = {depth: [fit.error for fit in fits if fit.depth == depth] for depth in {fit.depth: 0 for fit in fits}}
    table = RichTable(title="error of a tiny MATE on random maps", caption="1: no better than a constant")
    table.add_column("layers", justify="right")
    for seed in range(max(map(len, by_depth.values()))):
        table.add_column(f"map {seed}", justify="right")
    table.add_column("mean", justify="right")
    for depth, errors in by_depth.items():
        table.add_row(str(depth), *(f"{error:.3f}" for error in errors), f"{sum(errors) / len(errors):.3f}")
    return table


def write_approximation(fits: Sequence[Fit], folder: Path, command: Sequence[str]) -> None:
    """``approximation.json``: the command (what was typed after ``mate``) and each error.

    Raises:
        UserError: the folder cannot be written.
    """
    made = f"{shlex.join(['mate', *command])} (mate {__version__})"
    record = {"command": made, "fits": [fit._asdict() for fit in fits]}
    with written_to(folder):
        write_text(folder / "approximation.json", json.dumps(record, indent=1) + "\n")
