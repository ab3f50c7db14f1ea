"""Claims corrected for the number of comparisons: tables for the terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli.analysis.claims import Tested, TestedClaims
from mate_cli.metrics.statistics import LEVEL, Interval
from mate_cli.reporting.grid import TextTable, chance_text, markdown_page, terminal_table, write_analysis

CAPTION = (
    "Points, the first side minus the second. Over questions: one run of each side, with the interval of the paired "
    "bootstrap and p by the normal approximation; another training is not covered. Over seeds: Student's t; a side of "
    "one run is taken to have the spread of the other. Holm's p is corrected for the comparisons of its table, and "
    "starred below 0.05; the intervals of the last column hold all at once in 95% of cases (Bonferroni)."
)
_RIGHT = ("questions", "runs", "p", "Holm's p")


def claim_tables(claims: TestedClaims) -> list[RichTable]:
    return [
        terminal_table(grid.head, grid.rows, left=("claim",), title=grid.title, show_lines=True)
        for grid in _grids(claims)
    ]


def write_claims(claims: TestedClaims, folder: Path, command: Sequence[str]) -> None:
    """Write ``claims.json`` and ``claims.md``; ``command`` is the arguments after ``mate``."""
    page = markdown_page(command, CAPTION, _grids(claims), _RIGHT)
    write_analysis(folder, "claims", asdict(claims), page)


def _grids(claims: TestedClaims) -> Iterator[TextTable]:
    families = (("questions", "questions", claims.over_questions), ("seeds", "runs", claims.over_seeds))
    for name, unit, family in families:
        if family:
            head = ["claim", unit, "95%", "p", "Holm's p", "95%, all at once"]
            title = f"Over {name}: {len(family)} comparisons"
            yield TextTable(title, head, [_row(tested) for tested in family])


def _row(tested: Tested) -> list[str]:
    difference, star = tested.difference, "*" if tested.corrected_p < 1 - LEVEL else ""
    mean = f"{100 * difference.mean:+.1f}"
    chances = (chance_text(tested.p), chance_text(tested.corrected_p) + star)
    return [tested.claim, tested.n, f"{mean} ({_limits(difference)})", *chances, _limits(tested.together)]


def _limits(interval: Interval) -> str:
    return f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f}"
