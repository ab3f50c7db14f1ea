"""Tables of text as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> str:
    """A table, whatever its cells hold.

    Args:
        right: the columns to align right, by their heads.
    """
    rule = ["---:" if name in right else "---" for name in head]
    return "\n".join(f"| {' | '.join(map(_in_markdown, cells))} |" for cells in [head, rule, *rows])


def _in_markdown(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", "<br>")
