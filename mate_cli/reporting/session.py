"""What the commands of ``mate ask`` print about the last answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console

from mate_cli.inference.session import Session
from mate_cli.reporting.marked_table import marked_table, printable
from mate_cli.system.errors import UserError

_SHOWN = 3


def show_rows(session: Session, console: Console) -> None:
    """Print the table with the cells of the last answer marked; of a large one the rows near to them."""
    cells = [] if session.record is None else session.record["cells"]
    console.print(marked_table(session.example.table, cells, console.width))


def show_reasons(session: Session, console: Console) -> None:
    """Print the cells of the last answer with their probabilities, and what its question attends to.

    Raises:
        UserError: nothing has been asked, or the model's attention cannot be looked at.
    """
    if session.record is None:
        raise UserError("nothing has been asked yet")
    if "operator" in session.record:
        record = session.record
        console.print(f"operator: {record['operator']}, probability {record['operator_probability']:.2f}", markup=False)
    for cell in session.record["cells"]:
        place = f"{cell['header']}, row {cell['row']}"
        line = f"cell: {printable(cell['text'])} ({place}), probability {cell['probability']:.2f}"
        console.print(line, markup=False)
    attention, table = session.attention(), session.example.table
    for title, shares, names in (
        ("columns", attention.columns, [printable(header.text) for header in table.header]),
        ("rows", attention.rows, [str(row) for row in range(table.num_rows)]),
    ):
        console.print(f"attention of the question to {title}: {_largest(shares, names)}", markup=False)


def show_help(session: Session, console: Console) -> None:
    """Print the commands."""
    console.print(
        "write a question as to a person, + before one that follows up on the last, ! before a statement to be judged, "
        "or a command:"
    )
    for name, line in _HELP.items():
        console.print(f"  {name:<7}{line}", markup=False)


COMMANDS: dict[str, Callable[[Session, Console], None]] = {
    ":rows": show_rows,
    ":why": show_reasons,
    ":help": show_help,
}
_HELP = {
    ":rows": "the table with the cells of the last answer marked",
    ":why": "the cells of the last answer with their probabilities, and what its question attends to",
    ":quit": "end, as Ctrl-D does",
}


def _largest(shares: np.ndarray, names: Sequence[str]) -> str:
    order = np.argsort(-shares, kind="stable")[:_SHOWN]
    more = ", ..." if len(names) > _SHOWN else ""
    return ", ".join(f"{names[place]} {100 * shares[place]:.0f}%" for place in order) + more
