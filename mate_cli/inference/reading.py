"""An example as a model reads it: with every row of its table, or with some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mate_cli.encoding.features import Encoded
from mate_cli.tables.named_rows import named_rows
from mate_cli.tables.table import Example, Table

Encode = Callable[[Sequence[Example]], Iterable[Encoded]]


class Assembled(NamedTuple):
    """An answer that was put together from those of parts of a table.

    Attributes:
        prediction: with its cells placed in the asked table.
    """

    asked: Example
    prediction: Any
    parts: int

    def unread(self, max_tokens: int) -> str:
        """Say that the table was not read together, and how it can be."""
        parts, rows = f"{self.parts:,} parts", f"{self.asked.table.num_rows:,} rows"
        return f"the answers to {parts} of the {rows} were put together{_remedy(self.asked.table, max_tokens)}"


class Reading(NamedTuple):
    """An example as it is asked, and as the model reads it.

    Attributes:
        encoded: the example ``read``; rows: numbers of its rows in the asked table; empty: it has all of them.
        parts: of the table, which pointed to these rows; 0: the question names them.
    """

    asked: Example
    read: Example
    encoded: Encoded
    rows: tuple[int, ...] = ()
    parts: int = 0

    def in_asked(self, prediction: Any) -> Any:
        """Return a prediction with the places of its cells in the asked table."""
        if not self.rows:
            return prediction
        return replace(prediction, cells=tuple((self.rows[row], column) for row, column in prediction.cells))

    def unread(self, max_tokens: int) -> str | None:
        """Say what of the table was not read together, and how it can be; None: nothing."""
        encoded, count, remarks = self.encoded, len(self.rows), []
        if count:
            read = f"row {self._which()} was" if count == 1 else f"{count:,} rows {self._which()} were"
            together = " together" if self.parts else ""
            of_rows = f"of {self.asked.table.num_rows:,}{_remedy(self.asked.table, max_tokens)}"
            remarks.append(f"only the {read} read{together}, {of_rows}")
        if encoded.pruned or encoded.full_length > len(encoded.features):
            columns = f"{encoded.pruned} of {self.asked.table.num_columns} columns"
            part = columns if encoded.pruned else "the ends of long cells"
            remedy = "raise max_tokens, or ask about fewer columns or rows"
            remarks.append(f"{part} did not fit {max_tokens} tokens and were not read; {remedy}")
        return "; ".join(remarks) or None

    def _which(self) -> str:
        """Say which rows were read, and which words that name them were taken for others."""
        if self.parts:
            return f"that its {self.parts:,} parts point to"
        spelling = named_rows(self.asked.question, self.asked.table).spelling
        words = ", ".join(f'"{asked}" as "{read}"' for asked, read in spelling)
        return f"that the question names (reading {words})" if words else "that the question names"


def _remedy(table: Table, max_tokens: int) -> str:
    """Say how every row is read, where its cells alone, of a token or more each, are not too many."""
    is_short = (table.num_rows + 1) * table.num_columns <= max_tokens
    return "; rows=all reads every row" if is_short else ""
