"""List what there is to choose from: models, tasks, backbones, hardware, schedules, loggers, launchers and more."""

from __future__ import annotations

import sys

from mate_cli.config.catalogue import GROUPS, LISTED, Option, options, schedules
from mate_cli.config.rules import unknown_name
from mate_cli.system.errors import UserError


def run(what: str = "all") -> None:
    """Print one line per option of a kind, or of all kinds.

    Raises:
        UserError: there is no such kind.
    """
    if what not in (*LISTED, "all"):
        raise UserError(unknown_name("kind", what, (*LISTED, "all")))
    wanted = LISTED if what == "all" else (what,)
    for kind in wanted:
        show = _show_table if sys.stdout.isatty() else _show_lines
        show(kind if len(wanted) > 1 else None, schedules() if kind == "schedules" else options(GROUPS[kind]))


def _show_lines(title: str | None, listed: list[Option]) -> None:
    width = max(len(option.name) for option in listed)
    if title:
        print(f"{title}:")
    for option in listed:
        print(f"{'  ' if title else ''}{option.name:<{width}}  {option.line}")


def _show_table(title: str | None, listed: list[Option]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "what it is", title=title, title_justify="left")
    for option in listed:
        table.add_row(option.name, option.line)
    Console().print(table)
