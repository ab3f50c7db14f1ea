"""Tables of text for the terminal and in Markdown, and the files that an analysis writes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table as RichTable
from rich.text import Text

from mate_cli import __version__
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_text

_LEAST_P = 0.001  # below, digits say no more


class TextTable(NamedTuple):
    """A table of text: one cell in each row for each name in ``head``."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def terminal_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[str], **options: Any
) -> RichTable:
    """A table for the terminal; names and cells are text, never markup.

    Args:
        left: names of the columns to align left; the others are aligned right.
        options: of ``rich.table.Table``.
    """
    table = RichTable(**options)
    for name in head:
        table.add_column(Text(name), justify="left" if name in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> str:
    """A Markdown table; pipes and line breaks within cells are escaped.

    Args:
        right: names of the columns to align right.
    """
    rule = ["---:" if name in right else "---" for name in head]
    return "\n".join(f"| {' | '.join(map(_escaped, cells))} |" for cells in [head, rule, *rows])


def chance_text(p: float) -> str:
    """A p-value, from 0 to 1, in three decimals."""
    return f"{p:.3f}" if p >= _LEAST_P else f"<{_LEAST_P}"


def markdown_page(command: Sequence[str], caption: str, grids: Iterable[TextTable], right: Collection[str] = ()) -> str:
    """Tables with their titles, below the command that made them and a caption.

    Args:
        command: the arguments after ``mate``.
        right: names of the columns to align right.
    """
    lines = [f"`{shlex.join(['mate', *command])}` (mate {__version__})", "", caption]
    for grid in grids:
        lines += ["", *([grid.title, ""] if grid.title else []), markdown_table(grid.head, grid.rows, right)]
    return "\n".join([*lines, ""])


def write_analysis(
    folder: Path, name: str, record: Any, page: str = "", draw: Callable[[Path], None] | None = None
) -> None:
    """Write ``NAME.json`` and, where they are given, the Markdown ``NAME.md`` and the figure ``NAME.png``.

    Raises:
        UserError: the folder cannot be written.
    """
    with written_to(folder):
        write_text(folder / f"{name}.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        if page:
            write_text(folder / f"{name}.md", page)
        if draw is not None:
            draw(folder / f"{name}.png")


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", "<br>")
