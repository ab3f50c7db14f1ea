"""Attention flows: tables for the terminal, Markdown, numbers, a heat map of layers and heads."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli import __version__
from mate_cli.analysis.flow import TARGETS, Flow, Target
from mate_cli.reporting.markdown_table import markdown_table
from mate_cli.reporting.published import FLOW_ATTENTION, FLOW_UNIFORM
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_json, write_text

_WORDS = ("to", "same column", "same row", "layer", "head")
_MARKS = {None: "", False: "no", True: "yes"}


@dataclass(frozen=True)
class FlowReport:
    """What is told of a flow.

    Attributes:
        title: whose it is, and on what.
        is_papers: whether the paper's figures are of the same examples.
    """

    title: str
    flow: Flow
    is_papers: bool

    @property
    def caption(self) -> str:
        """What the figures are, and how far the baselines are from the paper's."""
        own = self.flow
        lines = (
            f"Per cent of the attention of {own.sources:,} tokens of the tables of {own.examples:,} examples. "
            "uniform: if each attended to all tokens of its input alike; pairs: the same, but every pair of two tokens "
            "weighs the same, and so long inputs more; ratio: attention to uniform."
        )
        if not self.is_papers:
            return lines
        far = [f"{distance(shares, FLOW_UNIFORM):.2f} ({name})" for name, shares in _baselines(own).items()]
        return f"{lines} Points to move from the paper's uniform column: {', '.join(far)}."


def distance(shares: np.ndarray, published: Sequence[float]) -> float:
    """Half the sum of the absolute differences in per cent: what would have to move for the columns to agree."""
    return float(np.abs(100 * shares - np.array(published)).sum() / 2)


def flow_tables(report: FlowReport) -> Iterator[RichTable]:
    """The paper's table; with a model, the shares by layer and by head too."""
    for name, head, rows in _grids(report):
        table = RichTable(title=f"{report.title}: {name}", padding=0)  # nine columns of words fit 80 characters
        for column in head:
            table.add_column(column, justify="left" if column in _WORDS else "right", no_wrap=column in _WORDS[3:])
        for row in rows:
            table.add_row(*row)
        yield table


def flow_record(report: FlowReport) -> dict[str, Any]:
    """All of it as plain data, shares from 0 to 1."""
    own = report.flow
    record: dict[str, Any] = {
        "title": report.title,
        "examples": own.examples,
        "sources": own.sources,
        "targets": [target._asdict() for target in TARGETS],
        **{name: shares.tolist() for name, shares in _baselines(own).items()},
    }
    if own.attention is not None:
        record |= {"attention": own.attention.mean((0, 1)).tolist(), "heads": list(own.heads)}
        record |= {"by_layer_and_head": own.attention.tolist()}
    return record


def flow_markdown(report: FlowReport, command: Sequence[str]) -> str:
    """The tables for a file, below the command that made them."""
    lines = [f"`{shlex.join(['mate', *command])}` (mate {__version__})", "", f"{report.title}. {report.caption}"]
    for name, head, rows in _grids(report):
        lines += ["", name, "", markdown_table(head, rows, right={*head} - {*_WORDS})]
    return "\n".join([*lines, ""])


def write_flow(report: FlowReport, folder: Path, command: Sequence[str]) -> list[str]:
    """``flow.json``, ``flow.md`` and, with a model, ``flow.png``; returns the names of those written.

    Args:
        command: what was typed after ``mate``.

    Raises:
        UserError: the folder cannot be written.
    """
    with written_to(folder):
        write_json(folder / "flow.json", flow_record(report))
        write_text(folder / "flow.md", flow_markdown(report, command))
        if report.flow.attention is None:
            return ["flow.json", "flow.md"]
        _draw(report, report.flow.attention, folder / "flow.png")
    return ["flow.json", "flow.md", "flow.png"]


def _draw(report: FlowReport, attention: np.ndarray, file: Path) -> None:
    """A panel for each target: layers down, heads across, one scale of colours for all."""
    from matplotlib.figure import Figure

    layers, heads, _ = attention.shape
    figure = Figure(figsize=(12, 1.8 + 6 * min(max(layers / heads, 0.4), 1.5)), layout="constrained")
    panels = figure.subplots(2, 4, sharex=True, sharey=True)
    names = [_head_name(report.flow, head) for head in range(heads)]
    for number, (target, panel) in enumerate(zip(TARGETS, panels.flat, strict=True)):
        image = panel.imshow(100 * attention[:, :, number], vmin=0, vmax=100, cmap="viridis", aspect="auto")
        own, uniform = (100 * shares[number] for shares in (attention.mean((0, 1)), report.flow.uniform))
        panel.set_title(f"{_name(target)}\n{own:.1f}, uniform {uniform:.1f}", fontsize=9)
        panel.set_xticks(range(heads), names, fontsize=7, rotation=90)
        panel.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)], fontsize=7)
    figure.supxlabel("head", fontsize=9)
    figure.supylabel("layer", fontsize=9)
    figure.suptitle(report.title, fontsize=10)
    figure.colorbar(image, ax=panels, label="per cent of the attention", shrink=0.8)
    figure.savefig(file, dpi=90)


def _grids(report: FlowReport) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Name, head and rows of each table."""
    yield "attention by target", *_main_grid(report)
    own = report.flow
    if own.attention is None:
        return
    columns = [_name(target) for target in TARGETS]
    layers, heads = own.attention.mean(1), own.attention.mean(0)
    yield "by layer", ["layer", *columns], [[str(n + 1), *_percents(row)] for n, row in enumerate(layers)]
    yield "by head", ["head", *columns], [[_head_name(own, n), *_percents(row)] for n, row in enumerate(heads)]


def _main_grid(report: FlowReport) -> tuple[list[str], list[list[str]]]:
    own, columns = report.flow, {}
    if own.attention is not None:
        mean = own.attention.mean((0, 1))
        columns["ratio"] = [_ratio(a, u) for a, u in zip(mean, own.uniform, strict=True)]
        columns["attention"] = _percents(mean)
    columns |= {name: _percents(shares) for name, shares in _baselines(own).items()}
    if report.is_papers:
        columns["paper: attention"] = [f"{figure:.2f}" for figure in FLOW_ATTENTION]
        columns["paper: uniform"] = [f"{figure:.2f}" for figure in FLOW_UNIFORM]
    marks = [[target.kind, _MARKS[target.same_column], _MARKS[target.same_row]] for target in TARGETS]
    rows = [[*mark, *cells] for mark, cells in zip(marks, zip(*columns.values(), strict=True), strict=True)]
    return [*_WORDS[:3], *columns], rows


def _baselines(flow: Flow) -> dict[str, np.ndarray]:
    return {"uniform": flow.uniform, "pairs": flow.pairs}


def _percents(shares: np.ndarray) -> list[str]:
    return [f"{100 * share:.2f}" for share in shares]


def _ratio(attention: float, uniform: float) -> str:
    return f"{attention / uniform:.2f}" if uniform else ""


def _name(target: Target) -> str:
    lines = {"column": target.same_column, "row": target.same_row}
    asked = {name: same for name, same in lines.items() if same is not None}
    if not asked:
        return target.kind
    shared = " and ".join(name for name, same in asked.items() if same)
    return f"{target.kind}, same {shared}" if shared else f"{target.kind}, other"


def _head_name(flow: Flow, head: int) -> str:
    return str(head + 1) if flow.heads[head] == "full" else f"{head + 1} {flow.heads[head].replace('_', ' ')}"
