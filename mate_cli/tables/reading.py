"""What a reader reads: a cell with the passages it links to, as a table of that one cell (spec 4.6, checklist 39)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from mate_cli.tables.table import Cell, Coordinate, Example, Input, Table

Noise = Literal["none", "full", "selective", "column"]
NOISES: tuple[str, ...] = get_args(Noise)


@dataclass(frozen=True, slots=True)
class TrainingCells:
    """Which cells a reader learns from; all four are choices of the release (checklist 45).

    Attributes:
        traced: the cells of the official answer nodes, not those that hold the answer.
        together: one table of one row that holds all cells of a question, not an example for each.
        skip_ambiguous: leave out questions with several cells.
        noise: adds as many cells that are not of them: ``full`` from the whole table, ``selective`` from their
            rows and columns, ``column`` from their columns.
    """

    traced: bool = False
    together: bool = False
    skip_ambiguous: bool = False
    noise: Noise = "none"


def reading_text(example: Example, cell: Coordinate, input: Input = "both") -> str:
    """The text of a body cell and, each after " : ", of the passages it links to; or one part of that.

    Raises:
        KeyError: a passage is not there.
    """
    row, column = cell
    own = example.table.rows[row][column]
    passages = [example.passages[link] for link in dict.fromkeys(own.links)]
    return " : ".join({"both": [own.text, *passages], "table": [own.text], "passages": passages}[input])


def reading_example(example: Example, cell: Coordinate, input: Input = "both") -> Example:
    """The question on one cell. The cell is its candidate where it is one of the question's."""
    return _example(example, [cell], example.candidates, input, f"{cell[0]}-{cell[1]}")


def reading_examples(example: Example, input: Input = "both") -> list[Example]:
    """The question on each of its candidate cells: what a reader is validated and scored on."""
    return [reading_example(example, cell, input) for cell in example.candidates]


def training_examples(example: Example, cells: TrainingCells, input: Input = "both") -> list[Example]:
    """The examples that a reader learns a question from; none where it has no cell with the answer."""
    right = example.traced if cells.traced else example.candidates
    if not right or (cells.skip_ambiguous and len(right) > 1):
        return []
    random = np.random.RandomState(release_seed(f"{example.id}/0-0"))
    chosen = [*right, *noisy_cells(example.table, right, cells.noise, random)]
    random.shuffle(chosen)
    if cells.together:
        return [_example(example, chosen, right, input, "all")]
    return [_example(example, [cell], right, input, f"{cell[0]}-{cell[1]}") for cell in dict.fromkeys(chosen)]


def noisy_cells(
    table: Table, right: Sequence[Coordinate], noise: Noise, random: np.random.RandomState
) -> list[Coordinate]:
    """As many other cells as there are right ones, each once where there are enough; the release's choice."""
    space = _noise_space(table, right, noise)
    if not space:
        return []
    return [space[i] for i in random.choice(len(space), len(right), replace=len(space) < len(right))]


def release_seed(text: str) -> int:
    """The seed that the release makes of an id."""
    return int(hashlib.sha256(repr(text).encode()).hexdigest(), 16) % (2**32 - 1)


def question_id(reading_id: str) -> str:
    """The id of the question that a reading example asks."""
    return reading_id.rsplit("/", 1)[0]


def _noise_space(table: Table, right: Sequence[Coordinate], noise: Noise) -> list[Coordinate]:
    rows, columns = {row for row, _ in right}, {column for _, column in right}
    allowed = {
        "none": lambda row, column: False,
        "full": lambda row, column: True,
        "selective": lambda row, column: row in rows or column in columns,
        "column": lambda row, column: column in columns,
    }[noise]
    cells = ((row, column) for row in range(table.num_rows) for column in range(table.num_columns))
    return [cell for cell in cells if cell not in right and allowed(*cell)]


def _example(
    example: Example, cells: Sequence[Coordinate], right: Sequence[Coordinate], input: Input, name: str
) -> Example:
    """The question on a table of one row with these cells."""
    row = tuple(Cell(reading_text(example, cell, input)) for cell in cells)
    return Example(
        id=f"{example.id}/{name}",
        question=example.question,
        table=Table(example.table.id, (Cell(""),) * len(row), (row,), example.table.title),
        answers=example.answers,
        candidates=tuple((0, number) for number, cell in enumerate(cells) if cell in right),
        subset=example.subset,
        reasoning=example.reasoning,
    )
