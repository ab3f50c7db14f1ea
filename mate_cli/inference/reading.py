"""An example as a model reads it: with every row of its table, or with some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mate_cli.encoding.features import Encoded
from mate_cli.tables.named_rows import named_rows
from mate_cli.tables.table import Example, Table

Encode = Callable[[Sequence[Example]], Iterable[Encoded]]

Rows = tuple[int, ...]
"""Numbers of rows, in order; empty: all."""

Advance = Callable[[int, int], None]
"""Called with the number of parts of a table that were read, and that of all."""


def silent(done: int, total: int) -> None:
    """Show no progress."""


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
        others: rows beside those that a statement names; None: a question is asked.
    """

    asked: Example
    read: Example
    encoded: Encoded
    rows: Rows = ()
    parts: int = 0
    others: int | None = None

    def in_asked(self, prediction: Any) -> Any:
        """Return a prediction with the places of its cells, if it has some, in the asked table."""
        if not self.rows or self.others is not None:
            return prediction
        return replace(prediction, cells=tuple((self.rows[row], column) for row, column in prediction.cells))

    def unread(self, max_tokens: int) -> str | None:
        """Say what of the table was not read together, and how it can be; None: nothing."""
        encoded, count, remarks = self.encoded, len(self.rows), []
        if count:
            together = " together" if self.parts else ""
            of_rows = f"of {self.asked.table.num_rows:,}{_remedy(self.asked.table, max_tokens)}"
            remarks.append(f"only {self._which()} read{together}, {of_rows}")
        if encoded.pruned or encoded.full_length > len(encoded.features):
            columns = f"{encoded.pruned} of {self.asked.table.num_columns} columns"
            part = columns if encoded.pruned else "the ends of long cells"
            remedy = "raise max_tokens, or ask about fewer columns or rows"
            remarks.append(f"{part} did not fit {max_tokens} tokens and were not read; {remedy}")
        return "; ".join(remarks) or None

    def _which(self) -> str:
        """Say which rows were read, and which words that name them were taken for others."""
        count = len(self.rows) - (self.others or 0)
        if self.parts:
            which = f"that its {self.parts:,} parts point to"
        else:
            spelling = named_rows(self.asked.question, self.asked.table).spelling
            words = ", ".join(f'"{asked}" as "{read}"' for asked, read in spelling)
            which = f"that the {'question' if self.others is None else 'statement'} names"
            which += f" (reading {words})" if words else ""
        rows = f"the row {which}" if count == 1 else f"the {count:,} rows {which}"
        others = f" and {self.others} other{'s' if self.others > 1 else ''}" if self.others else ""
        return f"{rows}{others} {'was' if len(self.rows) == 1 else 'were'}"


def encoded(encode: Encode, examples: Sequence[Example], rows: Sequence[Rows]) -> list[Reading]:
    """Encode each example with these of its rows."""
    all_rows = [len(own) == example.table.num_rows for example, own in zip(examples, rows, strict=True)]
    rows = [() if is_all else own for own, is_all in zip(rows, all_rows, strict=True)]
    read = [with_rows(example, own) if own else example for example, own in zip(examples, rows, strict=True)]
    return [Reading(*parts) for parts in zip(examples, read, encode(read), rows, strict=True)]


def with_rows(example: Example, rows: Rows) -> Example:
    """Return the question about these rows of its table, without marks of the answer."""
    table = example.table.selected(rows, range(example.table.num_columns))
    place = {row: number for number, row in enumerate(rows)}
    previous = tuple((place[row], column) for row, column in example.previous if row in place)
    return replace(example, table=table, candidates=(), traced=(), previous=previous)


def may_fit(table: Table, tokens: int, rows: Rows = ()) -> bool:
    """Tell without encoding, which takes long, whether rows may fit so many tokens: a cell has a token or more."""
    return (len(rows or table.rows) + 1) * table.num_columns <= tokens


def _remedy(table: Table, max_tokens: int) -> str:
    """Say how every row is read, where its cells alone are not too many."""
    return "; rows=all reads every row" if may_fit(table, max_tokens) else ""
