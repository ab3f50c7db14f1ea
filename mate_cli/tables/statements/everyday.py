"""The data format of statements in everyday words about the tables of made questions (``everyday_kinds``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from mate_cli.tables.queries import folder as queries
from mate_cli.tables.queries.draw import Draw, UnclearError
from mate_cli.tables.queries.sheet import Sheet
from mate_cli.tables.split import Split
from mate_cli.tables.statements.everyday_kinds import KINDS
from mate_cli.tables.table import Example, Table

LAYOUT = queries.LAYOUT
_PAIRS = 4  # of each table, each a true statement and a false one of the same kind
_TRIES = 12


def split_files(data_dir: Path, split: str) -> list[Path]:
    """Return the files of the made questions, which name the tables of the split, and a name for the statements."""
    return [*queries.split_files(data_dir, split), Path(f"{split} of everyday statements")]


def read_split(data_dir: Path, split: str) -> Split:
    """Make the statements about the tables of a split, always the same ones.

    Raises:
        UserError: a file is missing or broken.
    """
    examples = tuple(example for table in queries.read_tables(data_dir, split) for example in _statements(table))
    return Split(examples, 0, len(examples))


def _statements(table: Table) -> Iterator[Example]:
    """Yield pairs; a kind that the table has nothing for, or a statement made before, leaves out its pair."""
    draw, seen = Draw(Sheet(table), Random(f"statements about {table.id}")), set[str]()
    if draw.sheet.problem:
        return
    for number in range(_PAIRS):
        (kind,) = draw.random.choices([*KINDS], [weight for _, weight in KINDS.values()])
        true, false = (_drawn(kind, draw, truth) for truth in (True, False))
        if true is not None and false is not None and true != false and not {true, false} & seen:
            seen |= {true, false}
            for text, label, name in ((true, 1, "true"), (false, 0, "false")):
                ended = f"{text}{draw.choice(('', '.'))}"
                yield Example(f"{table.id}:{number}_{name}", ended, table, groups=(kind,), label=label)


def _drawn(kind: str, draw: Draw, truth: bool) -> str | None:
    for _ in range(_TRIES):
        try:
            return KINDS[kind].draw(draw, truth)
        except UnclearError:
            continue
    return None
