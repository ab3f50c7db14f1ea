"""Tables arranged otherwise, or with rows that do not matter: what the answer to a question should not depend on."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, get_args

from mate_cli.tables.table import Cell, Coordinate, Example, Table

Kind = Literal["rows", "columns", "distractors"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Perturbation:
    """What is done to each table of a split, the same for the same seed.

    Attributes:
        kind: ``rows`` and ``columns`` are shuffled, the body's rows and whole columns; ``distractors`` puts rows of
            other tables of the split between the table's own. They come from tables as wide, or else nearly so, and
            speak of something else: rows made of the table's own values would say new things about what is asked.
        share: how many rows ``distractors`` adds, as a share of the table's own; at least one.
    """

    kind: Kind
    seed: int = 0
    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A perturbed table, and where its rows and columns were before.

    Attributes:
        rows: of each row its number before, None of an added one; columns: of each column its number before.
        passages: what its cells link to.
    """

    table: Table
    rows: tuple[int | None, ...]
    columns: tuple[int, ...]
    passages: Mapping[str, str]

    @property
    def is_new(self) -> bool:
        """Whether anything is elsewhere or added; a table of one row has no other order of rows."""
        return self.rows != tuple(range(len(self.rows))) or self.columns != tuple(range(len(self.columns)))

    def origin(self, cell: Coordinate) -> Coordinate | None:
        """Where a cell was before; None where it was added."""
        row = self.rows[cell[0]]
        return None if row is None else (row, self.columns[cell[1]])

    def applied(self, example: Example) -> Example:
        """The example on this table; its cells go along, its answer stays what it is."""
        return replace(
            example,
            table=self.table,
            passages=self.passages,
            candidates=self._places(example.candidates),
            traced=self._places(example.traced),
            previous=self._places(example.previous),
        )

    def _places(self, cells: Sequence[Coordinate]) -> tuple[Coordinate, ...]:
        """Where cells are now, row-major."""
        if not cells:
            return ()
        row_of = {before: now for now, before in enumerate(self.rows)}
        column_of = {before: now for now, before in enumerate(self.columns)}
        return tuple(sorted((row_of[row], column_of[column]) for row, column in cells))


def arrangements(examples: Sequence[Example], perturbation: Perturbation) -> dict[str, Arrangement]:
    """The perturbed table of each table of a split, by its id."""
    by_table = {example.table.id: example for example in reversed(examples)}
    donors: dict[int, list[Example]] = {}
    for example in sorted(by_table.values(), key=lambda own: own.table.id):
        if example.table.rows:
            donors.setdefault(example.table.num_columns, []).append(example)
    return {name: _arranged(example, perturbation, donors) for name, example in by_table.items()}


def _arranged(example: Example, perturbation: Perturbation, donors: Mapping[int, list[Example]]) -> Arrangement:
    table, kind = example.table, perturbation.kind
    generator = random.Random(f"{perturbation.seed} {kind} {table.id}")
    rows, columns = list(range(table.num_rows)), list(range(table.num_columns))
    if kind == "distractors":
        return _with_distractors(example, perturbation.share, generator, donors)
    _shuffle(rows if kind == "rows" else columns, generator)
    header = tuple(table.header[column] for column in columns)
    body = tuple(tuple(table.rows[row][column] for column in columns) for row in rows)
    return Arrangement(replace(table, header=header, rows=body), tuple(rows), tuple(columns), example.passages)


def _shuffle(numbers: list[int], generator: random.Random) -> None:
    """Another order, in place, of all but equal likelihood; there is none of fewer than two."""
    before = list(numbers)
    while len(numbers) > 1 and numbers == before:
        generator.shuffle(numbers)


def _with_distractors(
    example: Example, share: float, generator: random.Random, donors: Mapping[int, list[Example]]
) -> Arrangement:
    table = example.table
    added = _rows_of_others(table, max(1, round(share * table.num_rows)), generator, donors)
    rows: list[int | None] = list(range(table.num_rows))
    body, passages = list(table.rows), dict(example.passages)
    for donor, row in added:
        place = generator.randrange(len(body) + 1)
        rows.insert(place, None)
        body.insert(place, _as_wide(row, table.num_columns))
        passages = {link: donor.passages[link] for cell in row for link in cell.links} | passages
    return Arrangement(replace(table, rows=tuple(body)), tuple(rows), tuple(range(table.num_columns)), passages)


def _rows_of_others(
    table: Table, number: int, generator: random.Random, donors: Mapping[int, list[Example]]
) -> list[tuple[Example, tuple[Cell, ...]]]:
    """So many rows with the examples that they are from, or fewer where the other tables as wide have no more."""
    for width in sorted(donors, key=lambda own: (abs(own - table.num_columns), -own)):
        others = [donor for donor in donors[width] if donor.table.id != table.id]
        if others:
            chosen = generator.sample(others, min(number, len(others)))
            return list(islice(((donor, row) for donor in chosen for row in donor.table.rows), number))
    return []


def _as_wide(row: Iterable[Cell], columns: int) -> tuple[Cell, ...]:
    cells = tuple(islice(row, columns))
    return cells + (Cell(""),) * (columns - len(cells))
