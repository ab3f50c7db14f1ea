"""What a model reads of a large table to judge a statement: the rows that it names, among others.

Read alone, they leave nothing to compare them with, and the model takes most of what is said of them for true. Among as
many other rows as an input of its training holds it tells them apart. A table of up to four times as many tokens is
read as a whole, and so is any of which the statement names no row, or says something of all ("the highest price").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mate_cli.inference.reading import Advance, Encode, Reading, Rows, encoded, may_fit, silent
from mate_cli.tables.named_rows import NamedRows, named_rows
from mate_cli.tables.table import Example

_OF_ALL_ROWS = """
    all always any average best both each every first last maximum mean median minimum most never no none only several
    sum top total worst
"""
_TO_ALL_ROWS = frozenset(_OF_ALL_ROWS.split())
"""Words that say something of more rows than those named; beside them superlatives, which end in "est"."""

_TOGETHER = 4
"""Times the inputs of the training, up to which all rows are read."""


class StatementReader(NamedTuple):
    """
    Attributes:
        most: tokens of the inputs of the training.
    """

    encode: Encode
    most: int

    def read(self, examples: Sequence[Example], advance: Advance = silent) -> list[Reading]:
        """Choose the rows to read for each statement and encode them."""
        return [self._read(example) for example in examples]

    def _read(self, example: Example) -> Reading:
        whole = self._encoded(example, ()) if may_fit(example.table, _TOGETHER * self.most) else None
        if whole is not None and whole.encoded.full_length <= _TOGETHER * self.most:
            return whole
        return self._among_others(example) or whole or self._encoded(example, ())

    def _among_others(self, example: Example) -> Reading | None:
        """Encode the rows that a statement names and as many others as fit; None: these do not, or do not suffice."""
        named = named_rows(example.question, example.table)
        if not named.suffice or any(word in _TO_ALL_ROWS or word.endswith("est") for word in named.others):
            return None
        first, *groups = _groups(named)
        reading = self._encoded(example, first)
        if not self._fits(reading):
            return None
        for rows in groups:
            more = self._encoded(example, tuple(sorted({*reading.rows, *rows})))
            if 2 * more.encoded.full_length <= self.most:
                reading = more
        return self._filled(example, reading)

    def _filled(self, example: Example, reading: Reading) -> Reading:
        """Add rows from all parts of the table until the input is full."""
        named, count = reading.rows, self.most // example.table.num_columns
        rest = [row for row in range(example.table.num_rows) if row not in {*named}]
        while count > 0:
            others = [rest[place * len(rest) // count] for place in range(count)]
            filled = self._encoded(example, tuple(sorted({*named, *others})))
            if self._fits(filled):
                return filled._replace(others=len(others))
            room, added = (one - reading.encoded.full_length for one in (self.most, filled.encoded.full_length))
            count = min(count - 1, count * room // added)
        return reading._replace(others=0)

    def _encoded(self, example: Example, rows: Rows) -> Reading:
        (reading,) = encoded(self.encode, [example], [rows])
        return reading

    def _fits(self, reading: Reading) -> bool:
        return reading.encoded.full_length <= self.most


def _groups(named: NamedRows) -> list[Rows]:
    """The rows that have most of the names, if that is several, then those of each name, the rarest name first.

    The first are needed. The others may leave half of an input to rows that are not named.
    """
    of_several = [named.rows] if named.most > 1 else []
    return [*of_several, *sorted(named.of_names, key=len)]
