"""Attention flow (paper table 7): tables for the terminal, Markdown, JSON, a heat map of layers and heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli.analysis.flow import TARGETS, Flow, Target
from mate_cli.reporting.grid import TextTable, markdown_page, terminal_table, write_analysis
from mate_cli.reporting.published import FLOW_ATTENTION, FLOW_UNIFORM

_WORDS = ("to", "same column", "same row", "layer", "head")
_MARKS = {None: "", False: "no", True: "yes"}


@dataclass(frozen=True)
class FlowReport:
    """An attention flow to report.

    Attributes:
        title: the model and the data.
        is_papers: whether the paper's numbers are of the same examples.
    """

    title: str
    flow: Flow
    is_papers: bool

    @property
    def caption(self) -> str:
        """The meaning of the columns, and the distance of the baselines from the paper's."""
        flow = self.flow
        lines = (
            f"Per cent of the attention of {flow.sources:,} tokens of the tables of {flow.examples:,} examples. "
            "uniform: if each attended to all tokens of its input alike; pairs: the same, but every pair of two tokens "
            "weighs the same, and so long inputs more; ratio: attention to uniform."
        )
        if not self.is_papers:
            return lines
        far = [f"{distance(shares, FLOW_UNIFORM):.2f} ({name})" for name, shares in _baselines(flow).items()]
        return f"{lines} Points to move from the paper's uniform column: {', '.join(far)}."


def distance(shares: np.ndarray, published: Sequence[float]) -> float:
    """Half the sum of the absolute differences in per cent: the points to move until the columns agree."""
    return float(np.abs(100 * shares - np.array(published)).sum() / 2)


def flow_tables(report: FlowReport) -> Iterator[RichTable]:
    """The paper's table; with a model, also the shares by layer and by head."""
    for grid in _grids(report):  # without padding, nine columns of words fit 80 characters
        title = f"{report.title}: {grid.title}"
        table = terminal_table(grid.head, grid.rows, left=_WORDS, title=title, padding=0)
        table.columns[0].no_wrap = grid.head[0] in ("layer", "head")
        yield table


def flow_record(report: FlowReport) -> dict[str, Any]:
    """The flow as plain data, shares from 0 to 1."""
    flow = report.flow
    record: dict[str, Any] = {
        "title": report.title,
        "examples": flow.examples,
        "sources": flow.sources,
        "targets": [target._asdict() for target in TARGETS],
        **{name: shares.tolist() for name, shares in _baselines(flow).items()},
    }
    if flow.attention is not None:
        record |= {"attention": flow.attention.mean((0, 1)).tolist(), "heads": list(flow.heads)}
        record |= {"by_layer_and_head": flow.attention.tolist()}
    return record


def flow_markdown(report: FlowReport, command: Sequence[str]) -> str:
    grids = list(_grids(report))
    right = {name for grid in grids for name in grid.head} - {*_WORDS}
    return markdown_page(command, f"{report.title}. {report.caption}", grids, right)


def write_flow(report: FlowReport, folder: Path, command: Sequence[str]) -> list[str]:
    """Write ``flow.json``, ``flow.md`` and, with a model, ``flow.png``; return their names.

    Args:
        command: the arguments after ``mate``.

    Raises:
        UserError: the folder cannot be written.
    """
    attention = report.flow.attention
    draw = None if attention is None else partial(_draw, report, attention)
    write_analysis(folder, "flow", flow_record(report), flow_markdown(report, command), draw)
    return ["flow.json", "flow.md", *([] if draw is None else ["flow.png"])]


def _draw(report: FlowReport, attention: np.ndarray, file: Path) -> None:
    """Draw one panel for each target: layers down, heads across, one colour scale for all."""
    from matplotlib.figure import Figure

    layers, heads, _ = attention.shape
    figure = Figure(figsize=(12, 1.8 + 6 * min(max(layers / heads, 0.4), 1.5)), layout="constrained")
    panels = figure.subplots(2, 4, sharex=True, sharey=True)
    names = [_head_name(report.flow, head) for head in range(heads)]
    for number, (target, panel) in enumerate(zip(TARGETS, panels.flat, strict=True)):
        image = panel.imshow(100 * attention[:, :, number], vmin=0, vmax=100, cmap="viridis", aspect="auto")
        share, uniform = (100 * shares[number] for shares in (attention.mean((0, 1)), report.flow.uniform))
        panel.set_title(f"{_name(target)}\n{share:.1f}, uniform {uniform:.1f}", fontsize=9)
        panel.set_xticks(range(heads), names, fontsize=7, rotation=90)
        panel.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)], fontsize=7)
    figure.supxlabel("head", fontsize=9)
    figure.supylabel("layer", fontsize=9)
    figure.suptitle(report.title, fontsize=10)
    figure.colorbar(image, ax=panels, label="per cent of the attention", shrink=0.8)
    figure.savefig(file, dpi=90)


def _grids(report: FlowReport) -> Iterator[TextTable]:
    flow = report.flow
    yield _main_grid(report)
    if flow.attention is None:
        return
    columns = [_name(target) for target in TARGETS]
    layers, heads = flow.attention.mean(1), flow.attention.mean(0)
    yield TextTable("by layer", ["layer", *columns], [[str(n + 1), *_percents(row)] for n, row in enumerate(layers)])
    yield TextTable(
        "by head", ["head", *columns], [[_head_name(flow, n), *_percents(row)] for n, row in enumerate(heads)]
    )


def _main_grid(report: FlowReport) -> TextTable:
    flow, columns = report.flow, {}
    if flow.attention is not None:
        mean = flow.attention.mean((0, 1))
        columns["ratio"] = [f"{a / u:.2f}" if u else "" for a, u in zip(mean, flow.uniform, strict=True)]
        columns["attention"] = _percents(mean)
    columns |= {name: _percents(shares) for name, shares in _baselines(flow).items()}
    if report.is_papers:
        columns["paper: attention"] = [f"{share:.2f}" for share in FLOW_ATTENTION]
        columns["paper: uniform"] = [f"{share:.2f}" for share in FLOW_UNIFORM]
    marks = [[target.kind, _MARKS[target.same_column], _MARKS[target.same_row]] for target in TARGETS]
    rows = [[*mark, *cells] for mark, cells in zip(marks, zip(*columns.values(), strict=True), strict=True)]
    return TextTable("attention by target", [*_WORDS[:3], *columns], rows)


def _baselines(flow: Flow) -> dict[str, np.ndarray]:
    return {"uniform": flow.uniform, "pairs": flow.pairs}


def _percents(shares: np.ndarray) -> list[str]:
    return [f"{100 * share:.2f}" for share in shares]


def _name(target: Target) -> str:
    lines = {"column": target.same_column, "row": target.same_row}
    asked = {name: same for name, same in lines.items() if same is not None}
    if not asked:
        return target.kind
    shared = " and ".join(name for name, same in asked.items() if same)
    return f"{target.kind}, same {shared}" if shared else f"{target.kind}, other"


def _head_name(flow: Flow, head: int) -> str:
    return str(head + 1) if flow.heads[head] == "full" else f"{head + 1} {flow.heads[head].replace('_', ' ')}"
