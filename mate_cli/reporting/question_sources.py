"""The tables that generated questions are about, and those that were left out, in lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import TaskConfig
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.queries.generate import SOURCES


def show_question_sources(task: TaskConfig, data_dir: str | None, paths: PathsConfig, console: Console) -> None:
    """Print the counts of a task whose questions are generated; make the questions first if there are none.

    Raises:
        UserError: as ``data_folder``; or the file of the counts is broken.
    """
    if task.format == "queries":
        console.print("questions about tables: made now if they are not there yet, which takes minutes for many tables")
        for line in _lines(data_folder(task, data_dir, paths)):
            console.print(line, highlight=False, markup=False)


def _lines(folder: Path) -> list[str]:
    file = folder / SOURCES
    if not file.is_file():  # written by hand; the questions are read without it
        return [f"{file} is not there, so which tables were left out is not known; mate prepare writes it"]
    try:
        return [*_count_lines(json.loads(file.read_text(encoding="utf-8")))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = disk_reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise UserError(
            f"{file}: not the counts of mate ({reason}); remove it, or make it again with mate prepare"
        ) from error


def _count_lines(counts: dict[str, Any]) -> Iterator[str]:
    yield f"tables: {counts['tables']['train']:,} to train on, {counts['tables']['dev']:,} held out"
    for reason, left_out in counts["left_out"].items():
        yield f"  left out: {left_out['tables']:,}, {reason}"
    if counts["missing"]:
        yield f"not there, so copies of their dev and test tables are not known: {', '.join(counts['missing'])}"
