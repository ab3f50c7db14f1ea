"""Progress of downloads and of a question: on a terminal a bar or a spinner, elsewhere a line for each download."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

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
from mate_cli.tables.table import Table


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


def spinner(table: Table) -> AbstractContextManager[Any]:
    """Show on a terminal that a table is read, which takes seconds from hundreds of rows on."""
    return Console(stderr=True).status(f"reading {table.num_rows:,} rows and {table.num_columns:,} columns")
