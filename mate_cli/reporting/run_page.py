"""All runs, tables and figures as one self-contained HTML page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mate_cli import __version__
from mate_cli.reporting.markdown import MarkdownFile, picture
from mate_cli.reporting.run_figures import curve_picture, score_picture
from mate_cli.reporting.runs import count, duration, score_text, scores_of, settings_of
from mate_cli.reporting.templates import render
from mate_cli.runs.records import BrokenRecord, RunRecord

Anchors = Mapping[Path, str]
"""Folder of a run -> its anchor on the page."""


def run_page(runs: Sequence[RunRecord], broken: Sequence[BrokenRecord], tables: Sequence[MarkdownFile]) -> str:
    """Tables and figures, then the runs by task, then each run with its settings, scores and curve."""
    anchors = {run.path.resolve(): f"run-{number}" for number, run in enumerate(runs, 1)}
    by_task: dict[str, list[RunRecord]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    return render(
        "report.html",
        version=__version__,
        tables=tables,
        tasks=[
            {
                "name": name,
                "scores": _address(score_picture(task_runs)),
                "runs": [_run(run, anchors) for run in task_runs],
            }
            for name, task_runs in by_task.items()
        ],
        broken=broken,
        number=len(runs),
        seconds=duration(sum(run.status.get("seconds") or 0 for run in runs)),
        flops=count(sum(run.flops or 0 for run in runs)),
    )


def _run(run: RunRecord, anchors: Anchors) -> dict[str, Any]:
    return {
        "anchor": anchors[run.path.resolve()],
        "columns": {name: value for name, value in run.columns.items() if name != "task"},
        "score": score_text(run),
        "time": duration(run.status.get("seconds")),
        "tokens": count(run.tokens),
        "facts": dict(_facts(run)),
        "parents": [(parent, anchors.get(Path(parent).resolve())) for parent in run.parents],
        "curve": _address(curve_picture(run)),
        "scores": {name: f"{100 * score:.1f}" for name, score in scores_of(run).items()},
        "settings": {name: str(value) for name, value in settings_of(run).items() if value is not None},
    }


def _facts(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Folder, command, time, cost, device and software of a run."""
    environment = run.environment
    yield "folder", str(run.path)
    if "command" in environment:
        yield "command", shlex.join(["mate", *environment["command"][1:]])
    yield "ended", str(run.status.get("time", "–"))
    yield "FLOPs", count(run.flops)
    device = run.status.get("hardware") or {}
    yield "device", ", ".join(str(device[name]) for name in ("device", "precision") if device.get(name)) or "–"
    packages = {"python": environment.get("python"), **environment.get("packages", {})}
    yield "versions", ", ".join(f"{name} {version}" for name, version in packages.items() if version) or "–"


def _address(svg: bytes | None) -> str | None:
    return None if svg is None else picture(svg, "image/svg+xml")
