"""The types that every data format produces and everything later consumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Coordinate = tuple[int, int]
"""A body cell as (row, column), both counted from 0; the header is not a row."""

Input = Literal["both", "table", "passages"]
"""What of a table is read: its cells and what they link to, or one of the two."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of one cell and the keys of the passages it links to, in order."""

    text: str
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A header and body rows of equal width.

    Raises:
        ValueError: a row is not as wide as the header.
    """

    id: str
    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.header):
                raise ValueError(
                    f"table {self.id!r}: row {number} has {len(row)} cells, the header has {len(self.header)}"
                )

    @property
    def num_rows(self) -> int:
        return len(self.rows)

    @property
    def num_columns(self) -> int:
        return len(self.header)


@dataclass(frozen=True, slots=True)
class Example:
    """A question or a statement about a table, with what its cells link to and, where known, the answer.

    Attributes:
        passages: link -> text, for every link of the table.
        answers: the answer strings; None where the split is blind.
        candidates: body cells whose text or linked passages contain the answer (paper section 5, checklist 35), or the
            very cells of the answer, where the data names them or they follow from its text (SQA, WTQ); row-major;
            empty where there are none or the split is blind.
        traced: body cells of the official answer nodes, row-major; empty where the data has none.
        subset: the official class of the answer: "table", "passage", "missing"; "" where unknown.
        reasoning: the kind of reasoning, where the data names it (the sample does); else "".
        groups: official groups scored apart, beside the subset ("simple" or "complex", and "small", in TabFact).
        value: the answer as a number, where it is one (WTQ); None elsewhere.
        label: 1 where the table entails the statement, 0 where it refutes it (TabFact); None elsewhere.
        conversation: the conversation that a question is part of (SQA), else ""; position: its place there, from 0.
        previous: the answer cells of the question before it in the conversation, row-major.
        earlier: the questions before it in the conversation that are in the data, in order.
    """

    id: str
    question: str
    table: Table
    answers: tuple[str, ...] | None = None
    passages: Mapping[str, str] = field(default_factory=dict)
    candidates: tuple[Coordinate, ...] = ()
    traced: tuple[Coordinate, ...] = ()
    subset: str = ""
    reasoning: str = ""
    groups: tuple[str, ...] = ()
    value: float | None = None
    label: int | None = None
    conversation: str = ""
    position: int = 0
    previous: tuple[Coordinate, ...] = ()
    earlier: tuple[str, ...] = ()
