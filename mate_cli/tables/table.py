"""The types that every data format produces and everything later consumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

Coordinate = tuple[int, int]
"""A body cell as (row, column), both from 0; the header is not a row."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a header or body.

    Attributes:
        links: keys of its linked passages, in order.
        number: of a cell in a column of numbers, in a table that is read as people write them; None in others.
    """

    text: str
    links: tuple[str, ...] = ()
    number: float | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A header and body rows of equal width.

    Attributes:
        everyday: whether numbers and dates are read as people write them, as in a user's own table, and not as the
            releases read those of the benchmarks (``tables.amounts``, ``tables.everyday_values``).

    Raises:
        ValueError: a row is not as wide as the header.
    """

    id: str
    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    everyday: bool = field(default=False, compare=False, repr=False)

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

    def selected(self, rows: Sequence[int], columns: Sequence[int]) -> Table:
        """Return the table of these rows and columns, in this order; its id and title stay."""
        header, *body = (
            tuple(row[column] for column in columns) for row in (self.header, *(self.rows[number] for number in rows))
        )
        return replace(self, header=header, rows=tuple(body))


@dataclass(frozen=True, slots=True)
class Example:
    """A question or statement about a table, with the linked passages and, if known, the answer.

    Attributes:
        passages: link -> text, for every link of the table.
        answers: answer texts; None in a blind split, empty if the table has no answer.
        candidates: body cells whose text or linked passages contain the answer (docs/notes.md, note 17), or the cells
            of the answer itself (SQA, WTQ); row-major; empty if there are none or the split is blind.
        traced: body cells of the official answer nodes, row-major; empty if the data has none.
        subset: official class of the answer: "table", "passage", "missing"; "" if unknown.
        reasoning: kind of reasoning, if the data names it (the sample does); otherwise "".
        groups: official groups with scores of their own ("simple" or "complex", and "small", in TabFact).
        value: the answer as a number (WTQ); None if it is not one.
        label: 1 if the table entails the statement, 0 if it refutes it (TabFact); None for questions.
        operator: name of the operator on the candidates (``tables.aggregation``), NONE if they are the answer; None if
            it is not known.
        conversation: id of the question's conversation (SQA), otherwise ""; position: its place there, from 0.
        previous: answer cells of the previous question of the conversation, row-major.
        earlier: the earlier questions of the conversation that are in the data, in order.
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
    operator: str | None = None
    conversation: str = ""
    position: int = 0
    previous: tuple[Coordinate, ...] = ()
    earlier: tuple[str, ...] = ()
