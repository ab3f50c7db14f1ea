"""Changed predictions and accuracy by length: tables for the terminal, Markdown, numbers, a picture."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table as RichTable
from rich.text import Text

from mate_cli import __version__
from mate_cli.analysis.robustness import LengthBin, Robustness, Sensitivity
from mate_cli.metrics.statistics import Interval
from mate_cli.reporting.markdown_table import markdown_table
from mate_cli.reporting.shares import percent, percent_interval
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_text

CAPTION = (
    "Per cent, with 95% bootstrap intervals, of the questions whose table a perturbation changes and that are read "
    "with and without it; tokens are the median of what is then read. The answer is taken to stay right; rows of "
    "other tables can make another one right."
)

_WORDS = {"rows": "rows shuffled", "columns": "columns shuffled"}
_SENSITIVITY = ("perturbation", "questions", "not read", "tokens", "changed", "before", "after", "gain")
_LENGTH = ("tokens", "questions", "accuracy")


def robustness_tables(title: str, found: Robustness) -> Iterator[RichTable]:
    """What each perturbation changes; accuracy by the length of the input."""
    for name, head, rows in _grids(found):
        table = RichTable(title=f"{title}: {name}")
        for column in head:
            table.add_column(column, justify="left" if column == "perturbation" else "right", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        yield table


def robustness_markdown(title: str, found: Robustness, command: Sequence[str]) -> str:
    """The same tables for a file, below the command that made them."""
    lines = [f"`{shlex.join(['mate', *command])}` (mate {__version__})", "", f"{title}. {CAPTION}"]
    for name, head, rows in _grids(found):
        lines += ["", name, "", markdown_table(head, rows)]
    return "\n".join([*lines, ""])


def write_robustness(title: str, found: Robustness, folder: Path, command: Sequence[str]) -> None:
    """``robustness.json``, with the ids of the changed predictions, ``robustness.md`` and ``robustness.png``.

    Args:
        command: what was typed after ``mate``.

    Raises:
        UserError: the folder cannot be written.
    """
    with written_to(folder):
        write_text(folder / "robustness.json", json.dumps(asdict(found), indent=1, ensure_ascii=False) + "\n")
        write_text(folder / "robustness.md", robustness_markdown(title, found, command))
        _draw(title, found.lengths, folder / "robustness.png")


def _draw(title: str, bins: Sequence[LengthBin], file: Path) -> None:
    """Accuracy against length, with intervals and the number of questions."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    panel = figure.subplots()
    tokens = [own.tokens for own in bins]
    means = [100 * own.accuracy.mean for own in bins]
    below = [100 * (own.accuracy.mean - own.accuracy.low) for own in bins]
    above = [100 * (own.accuracy.high - own.accuracy.mean) for own in bins]
    panel.errorbar(tokens, means, yerr=[below, above], marker="o", capsize=3)
    for own, mean in zip(bins, means, strict=True):
        panel.annotate(str(own.questions), (own.tokens, mean), xytext=(5, 5), textcoords="offset points", fontsize=8)
    panel.set_xscale("log", base=2)
    panel.set_xticks(tokens, [f"≤{number}" for number in tokens])
    panel.set(title=title, xlabel="tokens", ylabel="accuracy, per cent", ylim=(-3, 103))
    panel.grid(alpha=0.3)
    figure.savefig(file, dpi=90)


def _grids(found: Robustness) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    yield "predictions that change", list(_SENSITIVITY), [_sensitivity_row(own) for own in found.sensitivities]
    yield "accuracy by length", list(_LENGTH), [_length_row(own) for own in found.lengths]


def _sensitivity_row(own: Sensitivity) -> list[str]:
    perturbation = own.perturbation
    name = _WORDS.get(perturbation.kind, f"rows added, {100 * perturbation.share:g}%")
    shares = [_share(interval) for interval in (own.changed, own.before, own.after)]
    gain = f"{100 * own.gain.mean:+.1f}\n{100 * own.gain.low:+.1f} to {100 * own.gain.high:+.1f}"
    return [name, str(own.questions), str(own.unread), str(own.tokens), *shares, gain]


def _length_row(own: LengthBin) -> list[str]:
    return [f"≤{own.tokens}", str(own.questions), _share(own.accuracy)]


def _share(interval: Interval) -> str:
    return f"{percent(interval.mean)}\n{percent_interval(interval.low, interval.high)}"
