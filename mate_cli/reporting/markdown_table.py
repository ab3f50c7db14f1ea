"""Tables of text as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tabulate import tabulate


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> str:
    """A table, whatever its cells hold.

    Args:
        right: the columns to align right, by their heads.
    """
    sides = ["right" if name in right else "left" for name in head]
    cells = [[_in_markdown(cell) for cell in row] for row in rows]
    return tabulate(
        cells, [_in_markdown(name) for name in head], tablefmt="pipe", disable_numparse=True, colalign=sides
    )


def _in_markdown(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", "<br>")
