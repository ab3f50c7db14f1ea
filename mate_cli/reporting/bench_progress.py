"""How a bench is told while it runs: a line per model and point, and a bar where there is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mate_cli.bench.point import Point
from mate_cli.reporting.bench_format import flops, memory, ratio, seconds


class BenchProgress:
    """Use as a context, around the points."""

    def __init__(self, console: Console, points: int) -> None:
        self.console, self.points, self._done = console, points, 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=self.console)
            self._bar.add_task("", total=self.points)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, point: Point) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=str(point))

    def end(self, point: Point, records: list[dict[str, Any]]) -> None:
        self._done += 1
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])
        print_line = self._bar.console.print if self._bar is not None else self.console.print
        print_line(f"{self._done}/{self.points}  {point}", markup=False, highlight=False)
        for record in records:
            for line in record_lines(record):
                print_line(f"  {line}", markup=False, highlight=False)


def record_lines(record: dict[str, Any]) -> Iterator[str]:
    """What was measured of a model, and below it what was left out and why."""
    facts = []
    if "seconds" in record:
        facts.append(seconds(record["seconds"]["median"]))
    if "time_over_limit" in record and record["model"] != "limit":
        facts.append(f"{ratio(record['time_over_limit']['median'])} x limit")
    for reference, speedup in record.get("speedup", {}).items():
        if reference != record["model"]:
            facts.append(f"{ratio(speedup['median'])} x as fast as {reference}")
    if counted := record.get("flops", {}).get("counted"):
        facts.append(flops(counted))
    if "peak_bytes" in record:
        facts.append(memory(record["peak_bytes"]))
    if facts:
        yield f"{record['model']:<14}{'  '.join(facts)}"
    for measure, reason in record["left_out"].items():
        yield f"{record['model']:<14}{measure} left out: {reason}"
