"""What a model reads of a user's table: every row, or of a large table those that the question names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mate_cli.encoding.features import Encoded
from mate_cli.tables.named_rows import named_rows
from mate_cli.tables.table import Example

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
    """Encode examples, and once more with the named rows alone where the table is large.

    Args:
        most: tokens; a table that needs more of them is large; None: none is.
    """
    encoded = list(encode(examples))
    rows = [
        _rows_of(example) if most is not None and features.full_length > most else ()
        for example, features in zip(examples, encoded, strict=True)
    ]
    narrowed = [_with_rows(example, numbers) for example, numbers in zip(examples, rows, strict=True) if numbers]
    pairs = iter(zip(narrowed, encode(narrowed), strict=True))
    return [
        Reading(example, *next(pairs), numbers) if numbers else Reading(example, example, features)
        for example, features, numbers in zip(examples, encoded, rows, strict=True)
    ]


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
