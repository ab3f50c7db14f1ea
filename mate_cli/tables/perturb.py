"""Perturb tables without changing the answers: shuffle rows or columns, or add rows of other tables."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from mate_cli.config.analysis import PerturbationKind
from mate_cli.tables.table import Cell, Coordinate, Example, Table


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A change of each table of a split, the same for the same seed.

    Attributes:
        kind: ``rows`` and ``columns`` shuffle the body's rows or whole columns; ``distractors`` inserts rows of other
            tables of the split, preferably of the same width. These are about something else: rows made of the table's
            own values would add facts about the question.
        share: number of rows that ``distractors`` adds, relative to the table's own; at least one.
    """

    kind: PerturbationKind
    seed: int = 0
    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A perturbed table with the origin of its rows and columns.

    Attributes:
        rows: original number of each row, None if added; columns: original number of each column.
        passages: link -> text, for its cells.
    """

    table: Table
    rows: tuple[int | None, ...]
    columns: tuple[int, ...]
    passages: Mapping[str, str]

    @property
    def is_new(self) -> bool:
        """True if the table differs from the original; a table of one row has no other order of rows."""
        return self.rows != tuple(range(len(self.rows))) or self.columns != tuple(range(len(self.columns)))

    def origin(self, cell: Coordinate) -> Coordinate | None:
        """Return the original place of a cell; None if it was added."""
        row = self.rows[cell[0]]
        return None if row is None else (row, self.columns[cell[1]])

    def applied(self, example: Example) -> Example:
        """Return the example on this table, with its cells moved."""
        return replace(
            example,
            table=self.table,
            passages=self.passages,
            candidates=self._places(example.candidates),
            traced=self._places(example.traced),
            previous=self._places(example.previous),
        )

    def _places(self, cells: Sequence[Coordinate]) -> tuple[Coordinate, ...]:
        """Return the new places of cells, row-major."""
        if not cells:
            return ()
        row_of = {before: now for now, before in enumerate(self.rows)}
        column_of = {before: now for now, before in enumerate(self.columns)}
        return tuple(sorted((row_of[row], column_of[column]) for row, column in cells))


def arrangements(examples: Sequence[Example], perturbation: Perturbation) -> dict[str, Arrangement]:
    """Perturb each table of a split: table id -> arrangement."""
    by_table = {example.table.id: example for example in reversed(examples)}
    donors: dict[int, list[Example]] = {}
    for example in sorted(by_table.values(), key=lambda example: example.table.id):
        if example.table.rows:
            donors.setdefault(example.table.num_columns, []).append(example)
    return {name: _arranged(example, perturbation, donors) for name, example in by_table.items()}


def _arranged(example: Example, perturbation: Perturbation, donors: Mapping[int, list[Example]]) -> Arrangement:
    table, kind = example.table, perturbation.kind
    generator = random.Random(f"{perturbation.seed} {kind} {table.id}")
    rows, columns = list(range(table.num_rows)), list(range(table.num_columns))
    if kind == "distractors":
        return _with_distractors(example, perturbation.share, generator, donors)
    order = rows if kind == "rows" else columns
    before = list(order)
    while len(order) > 1 and order == before:
        generator.shuffle(order)
    return Arrangement(table.selected(rows, columns), tuple(rows), tuple(columns), example.passages)


def _with_distractors(
    example: Example, share: float, generator: random.Random, donors: Mapping[int, list[Example]]
) -> Arrangement:
    table = example.table
    added = _other_rows(table, max(1, round(share * table.num_rows)), generator, donors)
    rows: list[int | None] = list(range(table.num_rows))
    body, passages = list(table.rows), dict(example.passages)
    for donor, row in added:
        place = generator.randrange(len(body) + 1)
        rows.insert(place, None)
        padding = (Cell(""),) * (table.num_columns - len(row))
        body.insert(place, row[: table.num_columns] + padding)
        passages = {link: donor.passages[link] for cell in row for link in cell.links} | passages
    return Arrangement(replace(table, rows=tuple(body)), tuple(rows), tuple(range(table.num_columns)), passages)


def _other_rows(
    table: Table, count: int, generator: random.Random, donors: Mapping[int, list[Example]]
) -> list[tuple[Example, tuple[Cell, ...]]]:
    """Draw ``count`` rows with their examples from tables of the nearest width; fewer if these have no more."""
    for width in sorted(donors, key=lambda width: (abs(width - table.num_columns), -width)):
        others = [donor for donor in donors[width] if donor.table.id != table.id]
        if others:
            chosen = generator.sample(others, min(count, len(others)))
            return list(islice(((donor, row) for donor in chosen for row in donor.table.rows), count))
    return []
