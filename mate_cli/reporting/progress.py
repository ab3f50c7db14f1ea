"""Progress of downloads and of a question: on a terminal a bar, elsewhere a line for each download."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
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


def reading(table: Table) -> AbstractContextManager[Callable[[int, int], None]]:
    """Show on a terminal that a table is read, which takes seconds from hundreds of rows on, minutes of thousands."""
    return counted(f"reading {table.num_rows:,} rows and {table.num_columns:,} columns")


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal that something is done, and how much of it.

    Yields:
        a function for the number of its parts that are done, and that of all.
    """
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
