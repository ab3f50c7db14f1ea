"""List, compare and remove runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from mate_cli.config.plain import leaves
from mate_cli.config.rules import unknown_name
from mate_cli.reporting.grid import terminal_table
from mate_cli.runs.find import is_run_folder
from mate_cli.runs.identity import differences
from mate_cli.runs.records import BrokenRecord, RunRecord
from mate_cli.system.errors import UserError

_NOT_COMPARED = ("name", "paths", "resume", "overwrite", "logger")
_NUMBERS = {"score", "time", "tokens"}
_ESSENTIAL = ("score", "state")
_BY_IMPORTANCE = (*_ESSENTIAL, "time", "seed", "model", "ablation", "schedule", "backbone", "tokens", "code")
_BORDER = 3  # a line and two blanks around each column
_SHORT_NAME, _NAME_END = 16, 9
_NOT_SCORES = ("baselines", "lead", "low", "high", "number", "questions")


def chosen_runs(runs: Iterable[RunRecord], where: str) -> list[RunRecord]:
    """The runs that satisfy every NAME=VALUE of ``where``; ``*`` in a value stands for any characters.

    Raises:
        UserError: a condition is not NAME=VALUE, or no run has its name.
    """
    chosen = list(runs)
    for condition in where.split(","):
        name, equals, value = (part.strip() for part in condition.partition("="))
        if not equals or not name:
            raise UserError(f"where={where}: '{condition}' is not NAME=VALUE, like task=hybridqa")
        known = {key for run in chosen for key in _searchable(run)}
        if chosen and name not in known:
            raise UserError(unknown_name("name in where", name, sorted({key for run in chosen for key in run.columns})))
        chosen = [run for run in chosen if fnmatchcase(_searchable(run).get(name, ""), value)]
    return chosen


def runs_table(runs: Sequence[RunRecord], width: int) -> RichTable:
    """List runs, one line each, in at most ``width`` characters.

    Values that all runs share go to the caption. If the rest is too wide, the least important columns are dropped,
    which the caption says, and names lose their middle, where automatic names repeat other columns.
    """
    columns = {name: [run.columns[name] for run in runs] for name in runs[0].columns if name != "task"}
    shared = {name: cells[0] for name, cells in columns.items() if name != "name" and len(set(cells)) == 1}
    columns = {name: cells for name, cells in columns.items() if name not in shared}
    columns["score"] = [score_text(run) for run in runs]
    columns["time"] = [duration(run.status.get("seconds")) for run in runs]
    columns["tokens"] = [count(run.tokens) for run in runs]
    widths = {name: max(map(cell_len, [name, *cells])) + _BORDER for name, cells in columns.items()}
    shown = _fitting(widths, width - 1)
    room = width - 1 - sum(widths[name] for name in shown if name != "name") - _BORDER
    columns["name"] = [_shortened(name, max(room, _SHORT_NAME)) for name in columns["name"]]
    rows = zip(*(columns[name] for name in shown), strict=True)
    left_out = ", ".join(name for name in columns if name not in shown)
    captions = {
        "all": ", ".join(f"{name}={value or '-'}" for name, value in shared.items()),
        "left out for width (see output=json)": left_out,
    }
    lines = [f"{title}: {text}" for title, text in captions.items() if text]
    return terminal_table(shown, rows, {*shown} - _NUMBERS, caption=Text("\n".join(lines)) if lines else None)


def _fitting(widths: Mapping[str, int], room: int) -> list[str]:
    """The columns to show, in order: score and state leave room for a short name, the others for half a line of it."""
    chosen, taken = ["name"], min(widths["name"], _SHORT_NAME + _BORDER)
    for name in _BY_IMPORTANCE:
        if name not in _ESSENTIAL:
            taken = min(widths["name"], room // 2) + sum(widths[column] for column in chosen[1:])
        if name in widths and taken + widths[name] <= room:
            chosen.append(name)
            taken += widths[name]
    return [name for name in widths if name in chosen]


def _shortened(text: str, width: int) -> str:
    """Elide the middle of a text; automatic names differ at the end."""
    if cell_len(text) <= width:
        return text
    end = min(_NAME_END, width // 2)
    return f"{text[: width - end - 1]}…{text[-end:]}"


def compared(runs: Sequence[RunRecord]) -> dict[str, dict[str, list[Any]]]:
    """Return the differences between runs, each with a value for each run, and all scores.

    ``config``: settings that decide the result (``runs.identity``); ``facts``: other settings and circumstances.
    """
    names = {name for run in runs for name in differences(runs[0].identity, run.identity)}
    settings = [settings_of(run) for run in runs]
    decisive = {name for run in runs for name in run.identity.settings}
    others = sorted({name for config in settings for name in config} - decisive)
    facts = [
        _facts(run) | {name: config.get(name) for name in others} for run, config in zip(runs, settings, strict=True)
    ]
    columns = [(name, *(record[name] for record in facts)) for name in facts[0]]
    scores = [scores_of(run) for run in runs]
    return {
        "config": {name: [run.identity.value(name) for run in runs] for name in sorted(names)},
        "facts": {name: values for name, *values in columns if any(value != values[0] for value in values)},
        "scores": {name: [record.get(name) for record in scores] for run_scores in scores for name in run_scores},
    }


def comparison_tables(runs: Sequence[RunRecord], comparison: dict[str, dict[str, list[Any]]]) -> list[RichTable]:
    """The tables of ``compared``, one column for each run; empty parts are left out."""
    titles = {"config": "configuration, where it differs", "facts": "circumstances", "scores": "scores, per cent"}
    tables = []
    for part, lines in comparison.items():
        rows = [[name, *(_shown(value, part) for value in values)] for name, values in lines.items()]
        if rows:
            head = ["", *(run.columns["name"] for run in runs)]
            tables.append(terminal_table(head, rows, left=[""], title=titles[part], title_justify="left"))
    return tables


def run_folder(name: str, runs: Path) -> Path:
    """The folder of a run, given its path or its name in the list.

    Raises:
        UserError: there is none.
    """
    for path in (Path(name).expanduser(), runs / name):
        if is_run_folder(path):
            return path
    raise UserError(f"{name} is not a run folder; mate runs lists those in {runs}")


def check_removal(path: Path, runs: Path) -> None:
    """Check that a run folder is inside ``runs``, and not a link.

    Raises:
        UserError: it is not inside, or is a link.
    """
    if runs.resolve() not in path.resolve().parents:
        raise UserError(f"remove=[{path}]: it is not inside paths.runs={runs}; nothing is removed")
    if path.is_symlink():
        raise UserError(f"remove=[{path}]: it is a link; nothing is removed")


def removal_line(path: Path, runs: Sequence[RunRecord]) -> str:
    """State and size of a run to remove, and the runs that started from it."""
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    state = next((run.state for run in runs if run.path.resolve() == path.resolve()), "broken")
    children = [str(run.path) for run in runs if path.resolve() in {Path(parent).resolve() for parent in run.parents}]
    started = f"; {', '.join(children)} started from it" if children else ""
    return f"{path}: {state}, {size / 2**20:,.1f} MiB{started}"


def remove_run(path: Path) -> None:
    """Delete a run folder.

    Raises:
        UserError: it cannot be deleted.
    """
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise UserError(f"cannot remove {path}: {error.strerror}", exit_code=1) from error


def settings_of(run: RunRecord) -> dict[str, Any]:
    """The configuration of a run by dotted key; of the schedules, only the one in use."""
    plain = {name: value for name, value in run.config.items() if name not in _NOT_COMPARED}
    plain["task"] = {name: value for name, value in run.config["task"].items() if name != "schedules"}
    schedule = run.config["task"]["schedules"].get(run.schedule, {})
    return {**leaves({**plain, "schedule": schedule}), "schedule": run.schedule}


def scores_of(run: RunRecord) -> dict[str, float]:
    """The scores of the model by split and measure, from 0 to 1, without intervals and counts."""
    scores = {}
    for name, value in leaves(run.metrics).items():
        parts = name.split(".")
        if isinstance(value, float) and "model" in parts[1:-1] and not set(parts) & set(_NOT_SCORES):
            scores[".".join(part for part in parts if part not in ("model", "mean"))] = value
    return scores


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def total_time(runs: Iterable[RunRecord]) -> str:
    """The time that the trainings of these runs took together, as far as it is known."""
    return duration(sum(run.status.get("seconds") or 0.0 for run in runs))


def count(number: float | None) -> str:
    """A large number with a unit prefix."""
    if number is None:
        return "–"
    for unit, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def _searchable(run: RunRecord) -> dict[str, str]:
    """Settings and columns as they are written on the command line."""
    plain = {name: "null" if value is None else str(value) for name, value in leaves(run.config).items()}
    return (
        plain | {name: str(value).lower() for name, value in plain.items() if value in ("True", "False")} | run.columns
    )


def score_text(run: RunRecord) -> str:
    """The main score of a run, in per cent."""
    return "–" if run.headline is None else f"{run.headline[0]} {100 * run.headline[1]:.1f}"


def _facts(run: RunRecord) -> dict[str, Any]:
    packages = run.environment.get("packages", {})
    return {
        "state": run.state,
        "code": " ".join(run.codes),
        "packages": ", ".join(f"{name} {version}" for name, version in packages.items()),
        "device": (run.status.get("hardware") or {}).get("device"),
        "precision": (run.status.get("hardware") or {}).get("precision"),
        "parents": ", ".join(run.parents),
        "time": duration(run.status.get("seconds")),
        "tokens": count(run.tokens),
    }


def _shown(value: Any, part: str) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if part == "scores" else str(value)


def report_broken(broken: Sequence[BrokenRecord]) -> None:
    """Print the broken run folders and their number to stderr."""
    console = Console(stderr=True, soft_wrap=True)
    for record in broken:
        console.print(f"skipped: {record.reason}", markup=False, highlight=False)
    if broken:
        folders = "run folder is" if len(broken) == 1 else "run folders are"
        console.print(f"{len(broken)} {folders} broken and skipped", markup=False, highlight=False)
