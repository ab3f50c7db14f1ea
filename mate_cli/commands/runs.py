"""List the runs that there are, compare some of them, or remove them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from mate_cli.config.runs import RunsConfig
from mate_cli.reporting.runs import (
    check_removal,
    chosen_runs,
    compared,
    comparison_tables,
    removal_line,
    remove_run,
    report_broken,
    run_folder,
    runs_table,
    total_time,
)
from mate_cli.runs.records import RunRecord, read_run, read_runs
from mate_cli.system.files import hold
from mate_cli.system.output import print_json


def run(config: RunsConfig) -> None:
    """Read every run folder in ``paths.runs``; name and count those that cannot be read."""
    console, folder = Console(soft_wrap=True), Path(config.paths.runs)
    runs, broken = read_runs(folder)
    report_broken(broken)
    if config.compare is not None:
        _compare(config.compare, folder, config.output, console)
    elif config.remove is not None:
        _remove(config.remove, folder, runs, config.confirm, console)
    else:
        _list(config, runs, console)


def _list(config: RunsConfig, runs: list[RunRecord], console: Console) -> None:
    chosen = runs if config.where is None else chosen_runs(runs, config.where)
    if config.output == "json":
        for record in chosen:
            print_json(record.plain())
    elif chosen:
        console.print(runs_table(chosen, console.width))
        line = f"{len(chosen)} of {len(runs)} runs in {config.paths.runs}, {total_time(chosen)} of training"
        console.print(line, highlight=False, markup=False)
    else:
        more = f" with {config.where}" if runs and config.where else "; mate train makes one"
        console.print(f"no runs in {config.paths.runs}{more}", highlight=False, markup=False)


def _compare(names: list[str], folder: Path, output: str, console: Console) -> None:
    runs = [read_run(run_folder(name, folder)) for name in names]
    comparison = compared(runs)
    if output == "json":
        print_json({"runs": [str(record.path) for record in runs], **comparison})
        return
    for table in comparison_tables(runs, comparison):
        console.print(table)


def _remove(names: list[str], folder: Path, runs: list[RunRecord], confirm: bool, console: Console) -> None:
    paths = list(dict.fromkeys(run_folder(name, folder) for name in names))
    for path in paths:
        check_removal(path, folder)
    with ExitStack() as held:
        if confirm:  # all of them before the first is gone
            for path in paths:
                held.enter_context(hold(path))
        for path in paths:
            console.print(removal_line(path, runs), highlight=False, markup=False)
            if confirm:
                remove_run(path)
    done = "removed" if confirm else "nothing is removed; add confirm=true to remove"
    console.print(f"{done}: {len(paths)} run{'s' if len(paths) != 1 else ''}", highlight=False, markup=False)
