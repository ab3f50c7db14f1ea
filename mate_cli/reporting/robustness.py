"""Robustness analyses: tables for the terminal, Markdown, JSON, a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.table import Table as RichTable

from mate_cli.analysis.robustness import LengthBin, Robustness, Sensitivity
from mate_cli.kinds.accuracy import percent, percent_interval
from mate_cli.metrics.statistics import Interval
from mate_cli.reporting.grid import TextTable, markdown_page, terminal_table, write_analysis

CAPTION = (
    "Per cent, with 95% intervals, of the questions whose table a perturbation changes and that are read "
    "with and without it; tokens are the median of what is then read. The answer is taken to stay right; rows of "
    "other tables can make another one right. A follow-up of a conversation is read with the right answer to the "
    "question before it; questions of a conversation are drawn together for the intervals."
)

_WORDS = {"rows": "rows shuffled", "columns": "columns shuffled"}
_SENSITIVITY = ("perturbation", "questions", "not read", "tokens", "changed", "before", "after", "gain")
_LENGTH = ("tokens", "questions", "accuracy")


def robustness_tables(title: str, result: Robustness) -> Iterator[RichTable]:
    """Print the effect of each perturbation, then accuracy by the length of the input."""
    for grid in _grids(result):
        yield terminal_table(grid.head, grid.rows, left=["perturbation"], title=f"{title}: {grid.title}")


def write_robustness(title: str, result: Robustness, folder: Path, command: Sequence[str]) -> None:
    """Write ``robustness.json`` (with the ids of the changed predictions), ``robustness.md`` and ``robustness.png``.

    Args:
        command: the arguments after ``mate``.
    """
    page = markdown_page(command, f"{title}. {CAPTION}", _grids(result))
    write_analysis(folder, "robustness", asdict(result), page, partial(_draw, title, result.lengths))


def _draw(title: str, bins: Sequence[LengthBin], file: Path) -> None:
    """Accuracy against length, with intervals and the number of questions."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    panel = figure.subplots()
    tokens = [length.tokens for length in bins]
    means = [100 * length.accuracy.mean for length in bins]
    below = [100 * (length.accuracy.mean - length.accuracy.low) for length in bins]
    above = [100 * (length.accuracy.high - length.accuracy.mean) for length in bins]
    panel.errorbar(tokens, means, yerr=[below, above], marker="o", capsize=3)
    for length, mean in zip(bins, means, strict=True):
        point = (length.tokens, mean)
        panel.annotate(str(length.questions), point, xytext=(5, 5), textcoords="offset points", fontsize=8)
    panel.set_xscale("log", base=2)
    panel.set_xticks(tokens, [f"≤{number}" for number in tokens])
    panel.set(title=title, xlabel="tokens", ylabel="accuracy, per cent", ylim=(-3, 103))
    panel.grid(alpha=0.3)
    figure.savefig(file, dpi=90)


def _grids(result: Robustness) -> Iterator[TextTable]:
    yield TextTable("predictions that change", _SENSITIVITY, [_sensitivity_row(line) for line in result.sensitivities])
    lengths = [[f"≤{length.tokens}", str(length.questions), _share(length.accuracy)] for length in result.lengths]
    yield TextTable("accuracy by length", _LENGTH, lengths)


def _sensitivity_row(line: Sensitivity) -> list[str]:
    name = _WORDS.get(line.perturbation.kind, f"rows added, {100 * line.perturbation.share:g}%")
    shares = [_share(interval) for interval in (line.changed, line.before, line.after)]
    gain = f"{100 * line.gain.mean:+.1f}\n{100 * line.gain.low:+.1f} to {100 * line.gain.high:+.1f}"
    return [name, str(line.questions), str(line.unread), str(line.tokens), *shares, gain]


def _share(interval: Interval) -> str:
    return f"{percent(interval.mean)}\n{percent_interval(interval.low, interval.high)}"
