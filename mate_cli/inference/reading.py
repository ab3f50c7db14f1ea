"""What a model reads of a user's table: every row, or of a large table those that the question names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mate_cli.encoding.features import Encoded
from mate_cli.tables.named_rows import named_rows
from mate_cli.tables.table import Example, Table

Encode = Callable[[Sequence[Example]], Iterable[Encoded]]


class Reading(NamedTuple):
    """An example as it is asked, and as the model reads it.

    Attributes:
        encoded: the example ``read``; rows: numbers of its rows in the asked table; empty: it has all of them.
    """

    asked: Example
    read: Example
    encoded: Encoded
    rows: tuple[int, ...] = ()

    def in_asked(self, prediction: Any) -> Any:
        """Return a prediction with the places of its cells in the asked table."""
        if not self.rows:
            return prediction
        return replace(prediction, cells=tuple((self.rows[row], column) for row, column in prediction.cells))

    def unread(self, max_tokens: int) -> str | None:
        """Say what of the table was not read, and how it can be; None: nothing."""
        encoded, count, remarks = self.encoded, len(self.rows), []
        if count:
            read = "row that the question names was" if count == 1 else f"{count:,} rows that the question names were"
            remarks.append(f"only the {read} read, of {self.asked.table.num_rows:,}; rows=all reads every row")
        if encoded.pruned or encoded.full_length > len(encoded.features):
            columns = f"{encoded.pruned} of {self.asked.table.num_columns} columns"
            part = columns if encoded.pruned else "the ends of long cells"
            remedy = "raise max_tokens, or ask about fewer columns or rows"
            remarks.append(f"{part} did not fit {max_tokens} tokens and were not read; {remedy}")
        return "; ".join(remarks) or None


def readings(examples: Sequence[Example], encode: Encode, most: int | None) -> list[Reading]:
    """Encode examples, of a large table the rows alone that the question names.

    Args:
        most: tokens; a table that needs more of them is large; None: none is.
    """
    if most is None:
        return _encoded(examples, [()] * len(examples), encode)
    # A cell has a token or more. So most large tables are known without encoding all of their cells, which takes long.
    read = _encoded(examples, [_rows_of(e) if _cells(e.table) > most else () for e in examples], encode)
    late = {
        place: rows
        for place, reading in enumerate(read)
        if not reading.rows and reading.encoded.full_length > most and (rows := _rows_of(reading.asked))
    }
    again = iter(_encoded([examples[place] for place in late], list(late.values()), encode))
    return [next(again) if place in late else reading for place, reading in enumerate(read)]


def _encoded(examples: Sequence[Example], rows: Sequence[tuple[int, ...]], encode: Encode) -> list[Reading]:
    """Encode each example with these of its rows; with all where there are none."""
    read = [_with_rows(example, own) if own else example for example, own in zip(examples, rows, strict=True)]
    return [Reading(*parts) for parts in zip(examples, read, encode(read), rows, strict=True)]


def _cells(table: Table) -> int:
    return (table.num_rows + 1) * table.num_columns


def names_rows(example: Example) -> bool:
    return bool(_rows_of(example))


def _rows_of(example: Example) -> tuple[int, ...]:
    """The named rows; none of a follow-up, whose conversation names them, nor where linked passages name others."""
    if example.earlier or example.previous or example.passages:
        return ()
    rows = named_rows(example.question, example.table)
    return () if len(rows) == example.table.num_rows else rows


def _with_rows(example: Example, rows: tuple[int, ...]) -> Example:
    return replace(example, table=example.table.selected(rows, range(example.table.num_columns)))
