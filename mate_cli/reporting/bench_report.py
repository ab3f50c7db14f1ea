"""The report of a bench: Markdown tables, with the figures beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mate_cli.bench.findings import PAPER_COMPLEXITY, Series, curves
from mate_cli.reporting import bench_format as show
from mate_cli.reporting.bench_figures import draw_figures
from mate_cli.reporting.markdown_table import markdown_table
from mate_cli.system.files import write_text

Record = dict[str, Any]
Cell = Callable[[Record], str | None]

METHOD = """\
An encoder gets states and gives states; embeddings, pooler and heads are left out of all of them, and so is making
the plan or mask, which happens once a batch and for all layers (`plan_seconds` in results.json). Time is wall clock,
all models of a point taking turns in one process: the median over the rounds, quartiles in brackets. Ratios are taken
within a round, then their median. FLOPs are those that PyTorch's counter sees in the kernels (2 a multiplication and
addition); the formula counts linear layers and pairs of queries and keys; `needed` are those of the pattern alone,
without padding. Memory is the process's peak beyond what a short step left (256 tokens, or a quarter of the length),
inputs and plan included, each in a process of its own."""


def write_report(results: dict[str, Any], folder: Path) -> None:
    """``report.md`` and the figures."""
    figures = draw_figures(results["records"], folder)
    write_text(folder / "report.md", "\n".join(report_lines(results, figures)) + "\n")


def report_lines(results: dict[str, Any], figures: list[Path]) -> Iterator[str]:
    """The whole report."""
    device, environment = results["device"], results["environment"]
    yield "# mate bench"
    yield ""
    yield f"`mate {' '.join(results['command'])}`, {', '.join(results['sittings'])}"
    yield ""
    yield f"{device.get('gpu', device['cpu'])} ({device['instructions']}), {device['threads']} threads; " + ", ".join(
        f"{name} {version}" for name, version in environment["packages"].items() if version
    )
    yield ""
    yield METHOD
    yield ""
    yield "## Goals"
    yield ""
    yield "What exact MATE shall reach on a CPU with two threads."
    yield ""
    yield from goal_lines(results["goals"])
    for figure in figures:
        yield f"\n![{figure.stem}]({figure.name})"
    by_series: dict[Series, list[Record]] = {}
    for (own, _), curve in curves(results["records"]).items():
        by_series.setdefault(own, []).extend(curve)
    for own, records in by_series.items():
        yield f"\n## {show.series(own)}\n"
        yield from _series_tables(records)
    yield from _finding_lines(results["findings"])
    yield from _left_out_lines(results["records"])


def goal_lines(goals: list[dict[str, Any]]) -> Iterator[str]:
    """Each goal beside what was found; those that were not measured in one line."""
    measured = [goal for goal in goals if goal["state"] != "not measured"]
    for goal in measured:
        lengths = f" at {_lengths(goal['lengths'])}" if goal["lengths"] else ", 2048 to 16384"
        limits = {"at least": goal["low"], "at most": goal["high"]}
        wanted = " and ".join(f"{word} {limit:g}" for word, limit in limits.items() if limit is not None)
        yield (
            f"- {goal['state']}: {goal['model']}, {goal['value']}, {show.series(goal['series'])}{lengths}: "
            f"{goal['found']:.3g} ({wanted})"
        )
    if missing := len(goals) - len(measured):
        yield f"- not measured: {missing} of {len(goals)} goals (mate bench suite=acceptance measures all)"


def _lengths(lengths: list[int]) -> str:
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"


COLUMNS: dict[str, Cell] = {
    "time": lambda r: show.seconds(r["seconds"]["median"]),
    "quartiles": lambda r: f"[{show.seconds(r['seconds']['q1'])}, {show.seconds(r['seconds']['q3'])}]",
    "tokens/s": lambda r: f"{r['tokens_per_second']:,.0f}",
    "x limit": lambda r: show.ratio(r["time_over_limit"]["median"]),
    "faster than hf_tapas": lambda r: show.ratio(r["speedup"]["hf_tapas"]["median"]),
    "faster than dense_sdpa": lambda r: show.ratio(r["speedup"]["dense_sdpa"]["median"]),
    "MFU": lambda r: f"{100 * r['mfu']:.1f}%",
    "FLOPs": lambda r: show.flops(r["flops"]["counted"]),
    "formula": lambda r: show.flops(r["flops"]["formula"]),
    "counted - formula": lambda r: f"{100 * (r['flops']['counted'] / r['flops']['formula'] - 1):+.2f}%",
    "needed": lambda r: show.flops(r["flops"]["needed"]),
    "memory": lambda r: show.memory(r["peak_bytes"]),
    "memory x limit": lambda r: show.ratio(r["peak_over_limit"]),
    "largest batch": lambda r: str(r["largest_batch"]),
}


def _series_tables(records: list[Record]) -> Iterator[str]:
    """One table a series: a line per length and model, a column for all that was measured somewhere."""
    rows = [{name: _cell(cell, record) for name, cell in COLUMNS.items()} for record in records]
    used = [name for name in COLUMNS if any(row[name] for row in rows)]
    lines = sorted(zip(records, rows, strict=True), key=lambda pair: int(pair[0]["length"]))
    yield markdown_table(
        ["length", "model", *used],
        [[str(record["length"]), record["model"], *(row[name] or "–" for name in used)] for record, row in lines],
    )


def _cell(cell: Cell, record: Record) -> str | None:
    try:
        return cell(record)
    except (KeyError, TypeError):  # not measured, or no formula
        return None


def _finding_lines(findings: list[dict[str, Any]]) -> Iterator[str]:
    if not findings:
        return
    yield "\n## Exponents and break-even lengths\n"
    yield "Exponents are fitted from 2048 to 16384 tokens; complexity and class are those of the paper's table 1."
    yield ""
    names = list(findings[0]["exponents"])
    rows = []
    for found in findings:
        complexity = PAPER_COMPLEXITY.get(found["model"], ("–", "–"))
        exponents = [show.optional(found["exponents"][name]) for name in names]
        even = "; ".join(_break_even(reference, own) for reference, own in found["break_even"].items())
        rows.append([show.series(found["series"]), found["model"], *complexity, *exponents, even or "–"])
    yield markdown_table(["series", "model", "paper", "class", *names, "faster than"], rows)


def _break_even(reference: str, found: dict[str, Any]) -> str:
    if found["length"] is None:
        return f"{reference}: not up to {found['to']}"
    if found["length"] <= found["from"]:
        return f"{reference}: everywhere from {found['from']}"
    return f"{reference}: from about {found['length']:.0f}"


def _left_out_lines(records: list[Record]) -> Iterator[str]:
    lines = [
        f"- {record['model']}, {show.series([record[k] for k in ('size', 'layout', 'batch', 'mode', 'dtype')])}, "
        f"{record['length']}: {measure}: {reason}"
        for record in records
        for measure, reason in record["left_out"].items()
    ]
    if lines:
        yield "\n## Left out\n"
        yield from lines
