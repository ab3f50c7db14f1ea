"""Draw results/growth/growth.png from the two reports beside it: Hits@1 as rows of other tables are added."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from mate_cli.reporting.bench_figures import look_of

FOLDER = Path(__file__).resolve().parents[1] / "results" / "growth"
MODELS = ("mate", "mate_bucketed")


def added_rows(model: str) -> list[dict[str, Any]]:
    """Return the measurements of a model, by the number of tokens that it reads (median)."""
    report = json.loads((FOLDER / model / "robustness.json").read_text(encoding="utf-8"))
    return sorted(report["sensitivities"], key=lambda line: int(line["tokens"]))


def draw(file: Path) -> None:
    """Plot accuracy with 95% intervals against the tokens of the grown tables; dashed: without added rows."""
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    panel = figure.subplots()
    for model in MODELS:
        lines, look = added_rows(model), look_of(model)
        tokens, (mean, low, high) = [line["tokens"] for line in lines], _per_cents([line["after"] for line in lines])
        errors = [
            [m - one for m, one in zip(mean, low, strict=True)],
            [one - m for m, one in zip(mean, high, strict=True)],
        ]
        panel.errorbar(tokens, mean, yerr=errors, marker="o", capsize=3, color=look.colour)
        panel.axhline(100 * lines[0]["before"]["mean"], color=look.colour, linestyle="--", linewidth=1)
        panel.annotate(look.name, (tokens[-1], mean[-1]), xytext=(8, 0), textcoords="offset points", color=look.colour)
    panel.set_xscale("log")
    panel.set_xticks(
        tokens, [f"{number:,}\n{line['perturbation']['share']:g} x" for number, line in zip(tokens, lines, strict=True)]
    )
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set(
        xlabel="tokens (median) and rows added, times those of the table", ylabel="Hits@1, per cent", ylim=(0, 75)
    )
    panel.set_xlim(600, 14000)
    figure.savefig(file, dpi=120)


def _per_cents(intervals: Sequence[dict[str, float]]) -> list[list[float]]:
    return [[100 * interval[name] for interval in intervals] for name in ("mean", "low", "high")]


if __name__ == "__main__":
    draw(FOLDER / "growth.png")
