"""Benchmarks: lines and a bar while they run, the goals, and a report in Markdown with figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mate_cli.bench.auto import MEAN_GOAL, WORST_GOAL
from mate_cli.bench.findings import PAPER_COMPLEXITY, Series, curves, point_of
from mate_cli.bench.point import Point
from mate_cli.reporting.bench_figures import draw_figures, series_name
from mate_cli.reporting.grid import markdown_table
from mate_cli.reporting.templates import render
from mate_cli.system.files import write_text

Record = dict[str, Any]


class BenchProgress(Progress):
    """Print the results of each point; on a terminal, also show a bar. A context manager around the points."""

    def __init__(self, console: Console, points: int) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        super().__init__(*columns, console=console, disable=not console.is_terminal)
        self._points = self.add_task("", total=points)

    def begin(self, point: Point) -> None:
        self.update(self._points, description=str(point))

    def end(self, point: Point, records: list[Record]) -> None:
        self.advance(self._points)
        (bar,) = self.tasks
        lines = [f"  {line}" for record in records for line in _record_lines(record)]
        for line in [f"{bar.completed:.0f}/{bar.total:.0f}  {point}", *lines]:
            self.console.print(line, markup=False, highlight=False)


def _record_lines(record: Record) -> Iterator[str]:
    """The measurements of a model in one line; then a line for each that was left out, with the reason."""
    facts = []
    if "seconds" in record:
        facts.append(_seconds(record["seconds"]["median"]))
    if "time_over_limit" in record and record["model"] != "limit":
        facts.append(f"{record['time_over_limit']['median']:.2f} x limit")
    for reference, speedup in record.get("speedup", {}).items():
        if reference != record["model"]:
            facts.append(f"{speedup['median']:.2f} x as fast as {reference}")
    if counted := record.get("flops", {}).get("counted"):
        facts.append(_flops(counted))
    if "peak_bytes" in record:
        facts.append(_memory(record["peak_bytes"]))
    if facts:
        yield f"{record['model']:<14}{'  '.join(facts)}"
    for measure, reason in record["left_out"].items():
        yield f"{record['model']:<14}{measure} left out: {reason}"


def write_report(results: dict[str, Any], folder: Path) -> None:
    """Write ``report.md`` and its figures."""
    write_text(folder / "report.md", report_text(results, draw_figures(results, folder)))


def report_text(results: dict[str, Any], figures: Sequence[Path]) -> str:
    """The report in Markdown.

    Args:
        results: the content of ``results.json``.
        figures: pictures beside the report.
    """
    by_series: dict[Series, list[Record]] = {}
    for (series, _), curve in curves(results["records"]).items():
        by_series.setdefault(series, []).extend(curve)
    return render(
        "bench_report.md",
        results=results,
        device={"gpu": None, **results["device"]},
        versions=[f"{name} {version}" for name, version in results["environment"]["packages"].items() if version],
        goals=goal_lines(results["goals"]),
        auto=_auto_table(results.get("auto") or {}),
        goals_of_auto=(MEAN_GOAL, WORST_GOAL),
        figures=figures,
        series={series_name(series): _series_table(records) for series, records in by_series.items()},
        findings=_findings_table(results["findings"]),
        left_out=[
            f"- {record['model']}, {series_name(point_of(record).series)}, {record['length']}: {measure}: {reason}"
            for record in results["records"]
            for measure, reason in record["left_out"].items()
        ],
    )


def goal_lines(goals: list[dict[str, Any]]) -> Iterator[str]:
    """Each goal beside the value measured; the goals that were not measured in one line."""
    measured = [goal for goal in goals if goal["state"] != "not measured"]
    for goal in measured:
        ends = dict.fromkeys(goal["lengths"][:1] + goal["lengths"][-1:])
        lengths = f" at {' to '.join(map(str, ends))}" if ends else ", 2048 to 16384"
        limits = {"at least": goal["low"], "at most": goal["high"]}
        asked = " and ".join(f"{word} {limit:g}" for word, limit in limits.items() if limit is not None)
        yield (
            f"- {goal['state']}: {goal['model']}, {goal['value']}{_divisor(goal)}, "
            f"{series_name(goal['series'])}{lengths}: {goal['found']:.3g} ({asked})"
        )
    if missing := len(goals) - len(measured):
        suites = "on a CPU with threads=2, suite=acceptance and suite=training of mate bench measure all"
        yield f"- not measured: {missing} of {len(goals)} goals ({suites})"


def _divisor(goal: dict[str, Any]) -> str:
    """What the value of a goal is divided by: another model's, or that of another series."""
    if not goal.get("over"):
        return ""
    series, model = goal["over"]
    return f" / that of {model if model != goal['model'] else f'({series_name(series)})'}"


def _auto_table(summary: dict[str, Any]) -> str:
    rows = [
        [name, str(found["points"]), str(found["fastest_taken"]), f"{found['mean']:.3f}", f"{found['worst']:.3f}"]
        + ([found["worst_at"], found["state"]] if name != "clock" else ["–", "–"])
        for name, found in summary.items()
        if found
    ]
    head = ["rule", "points", "the fastest taken", "mean", "worst", "at", "goal"]
    return markdown_table(head, rows) if rows else ""


_COLUMNS: dict[str, Callable[[Record], str]] = {
    "time": lambda r: _seconds(r["seconds"]["median"]),
    "quartiles": lambda r: f"[{_seconds(r['seconds']['q1'])}, {_seconds(r['seconds']['q3'])}]",
    "tokens/s": lambda r: f"{r['tokens_per_second']:,.0f}",
    "x limit": lambda r: f"{r['time_over_limit']['median']:.2f}",
    "faster than hf_tapas": lambda r: f"{r['speedup']['hf_tapas']['median']:.2f}",
    "faster than dense_sdpa": lambda r: f"{r['speedup']['dense_sdpa']['median']:.2f}",
    "MFU": lambda r: f"{100 * r['mfu']:.1f}%",
    "FLOPs": lambda r: _flops(r["flops"]["counted"]),
    "formula": lambda r: _flops(r["flops"]["formula"]),
    "counted - formula": lambda r: f"{100 * (r['flops']['counted'] / r['flops']['formula'] - 1):+.2f}%",
    "needed": lambda r: _flops(r["flops"]["needed"]),
    "memory": lambda r: _memory(r["peak_bytes"]),
    "memory x limit": lambda r: f"{r['peak_over_limit']:.2f}",
    "largest batch": lambda r: str(r["largest_batch"]),
}


def _series_table(records: list[Record]) -> str:
    """One line for each length and model, one column for each value that was measured at least once."""
    records = sorted(records, key=lambda record: int(record["length"]))
    rows = [{name: _cell(column, record) for name, column in _COLUMNS.items()} for record in records]
    used = [name for name in _COLUMNS if any(row[name] for row in rows)]
    lines = [
        [str(record["length"]), record["model"], *(row[name] or "–" for name in used)]
        for record, row in zip(records, rows, strict=True)
    ]
    return markdown_table(["length", "model", *used], lines)


def _cell(column: Callable[[Record], str], record: Record) -> str | None:
    try:
        return column(record)
    except (KeyError, TypeError):  # not measured, or no formula
        return None


def _findings_table(findings: list[dict[str, Any]]) -> str:
    """Exponents with their intervals over the rounds, and break-even lengths; "" without findings."""
    if not findings:
        return ""
    names = list(findings[0]["exponents"])
    rows = []
    for finding in findings:
        complexity = PAPER_COMPLEXITY.get(finding["model"], ("–", "–"))
        exponents = (_exponent(value, finding["intervals"].get(name)) for name, value in finding["exponents"].items())
        even = "; ".join(_break_even(reference, lengths) for reference, lengths in finding["break_even"].items())
        rows.append([series_name(finding["series"]), finding["model"], *complexity, *exponents, even or "–"])
    return markdown_table(["series", "model", "paper", "class", *names, "faster than"], rows)


def _exponent(value: float | None, interval: list[float] | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if interval is None else f"{value:.2f} ({interval[0]:.2f} to {interval[1]:.2f})"


def _break_even(reference: str, lengths: dict[str, Any]) -> str:
    if lengths["length"] is None:
        return f"{reference}: not up to {lengths['to']}"
    if lengths["length"] <= lengths["from"]:
        return f"{reference}: everywhere from {lengths['from']}"
    return f"{reference}: from about {lengths['length']:.0f}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def _flops(value: float) -> str:
    return f"{value / 1e9:,.1f} GFLOP"


def _memory(value: float) -> str:
    return f"{value / 2**20:,.0f} MiB"
