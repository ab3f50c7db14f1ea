"""Progress of downloads: a bar for each file on a terminal, a line elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from mate_cli.tables.download import Advance


@contextmanager
def downloads(console: Console) -> Iterator[Advance]:
    """Yield a function that shows how many bytes of a file have arrived."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:

        def advance(name: str, size: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name)
                if not console.is_terminal:
                    console.print(f"fetching {name}", markup=False, highlight=False)
            progress.update(tasks[name], completed=size, total=total)

        yield advance
