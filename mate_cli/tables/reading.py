"""Make examples for the reader: a question on a cell with its linked passages, as a table of that one cell.

Paper section 4.2; docs/notes.md, note 10.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mate_cli.config.choices import one_for_each
from mate_cli.config.task import NOISES, Input, Noise
from mate_cli.tables.table import Cell, Coordinate, Example, Table


@dataclass(frozen=True, slots=True)
class TrainingCells:
    """The cells that the reader is trained on; all four options are the release's (docs/notes.md, note 10).

    Attributes:
        traced: use the cells of the official answer nodes instead of the candidates.
        together: make one table of one row with all cells of a question, instead of an example per cell.
        skip_ambiguous: leave out questions with several cells.
        noise: add as many wrong cells: ``full`` from the whole table, ``selective`` from the same rows and columns,
            ``column`` from the same columns.
    """

    traced: bool = False
    together: bool = False
    skip_ambiguous: bool = False
    noise: Noise = "none"


def reading_text(example: Example, cell: Coordinate, input: Input = "both") -> str:
    """Return the text of a body cell and of its linked passages, joined by " : "; or one of the two.

    Raises:
        KeyError: a passage is missing.
    """
    row, column = cell
    linked = example.table.rows[row][column]
    passages = [example.passages[link] for link in dict.fromkeys(linked.links)]
    return " : ".join({"both": [linked.text, *passages], "table": [linked.text], "passages": passages}[input])


def reading_example(example: Example, cell: Coordinate, input: Input = "both") -> Example:
    """Return the question on one cell, which is a candidate if it is one of the question's."""
    return _example(example, [cell], example.candidates, input, f"{cell[0]}-{cell[1]}")


def reading_examples(example: Example, input: Input = "both") -> list[Example]:
    """Return the question on each of its candidate cells, to validate and score a reader."""
    return [reading_example(example, cell, input) for cell in example.candidates]


def training_examples(example: Example, cells: TrainingCells, input: Input = "both") -> list[Example]:
    """Return the training examples of a question; none if it has no cell with the answer."""
    answers = example.traced if cells.traced else example.candidates
    if not answers or (cells.skip_ambiguous and len(answers) > 1):
        return []
    random = np.random.RandomState(release_seed(f"{example.id}/0-0"))
    chosen = [*answers, *noisy_cells(example.table, answers, cells.noise, random)]
    random.shuffle(chosen)
    if cells.together:
        return [_example(example, chosen, answers, input, "all")]
    return [_example(example, [cell], answers, input, f"{cell[0]}-{cell[1]}") for cell in dict.fromkeys(chosen)]


def noisy_cells(
    table: Table, answers: Sequence[Coordinate], noise: Noise, random: np.random.RandomState
) -> list[Coordinate]:
    """Draw as many wrong cells as there are answers, as the release does: without replacement if there are enough."""
    rows, columns = {row for row, _ in answers}, {column for _, column in answers}
    is_eligible = _ELIGIBLE[noise]
    cells = ((row, column) for row in range(table.num_rows) for column in range(table.num_columns))
    eligible = [cell for cell in cells if cell not in answers and is_eligible(cell[0] in rows, cell[1] in columns)]
    if not eligible:
        return []
    chosen = random.choice(len(eligible), len(answers), replace=len(eligible) < len(answers))
    return [eligible[number] for number in chosen]


def release_seed(text: str) -> int:
    """Return the release's seed for an id."""
    return int(hashlib.sha256(repr(text).encode()).hexdigest(), 16) % (2**32 - 1)


def question_id(reading_id: str) -> str:
    """Return the id of the question of a reading example."""
    return reading_id.rsplit("/", 1)[0]


def _example(
    example: Example, cells: Sequence[Coordinate], answers: Sequence[Coordinate], input: Input, name: str
) -> Example:
    """Return the question on a table of one row with these cells."""
    row = tuple(Cell(reading_text(example, cell, input)) for cell in cells)
    return Example(
        id=f"{example.id}/{name}",
        question=example.question,
        table=Table(example.table.id, (Cell(""),) * len(row), (row,), example.table.title),
        answers=example.answers,
        candidates=tuple((0, number) for number, cell in enumerate(cells) if cell in answers),
        subset=example.subset,
        reasoning=example.reasoning,
    )


# By whether a cell shares a row, and a column, with an answer.
_ELIGIBLE: dict[str, Callable[[bool, bool], bool]] = one_for_each(
    NOISES,
    {
        "none": lambda same_row, same_column: False,
        "full": lambda same_row, same_column: True,
        "selective": lambda same_row, same_column: same_row or same_column,
        "column": lambda same_row, same_column: same_column,
    },
)
