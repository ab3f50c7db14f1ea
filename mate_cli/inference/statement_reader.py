"""What a model reads of a large table to judge a statement: the rows that it names, among others.

Read alone, they leave nothing to compare them with, and the model takes most of what is said of them for true. Among as
many other rows as an input of its training holds it tells them apart. For a superlative ("the highest price") the ends
of columns are among these. A table that fits such an input is read as a whole, also one of up to four times as many
tokens if the statement has no superlative, and any if it names no row, or says something of others ("all", "before").
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from mate_cli.inference.reading import Advance, Encode, Reading, Rows, encoded, may_fit, silent
from mate_cli.tables.end_rows import end_rows
from mate_cli.tables.named_rows import NamedRows, named_rows
from mate_cli.tables.table import Example

_OF_ALL_ROWS = """
    all always any average both each every mean median never no none only several sum total
"""
_TO_ALL_ROWS = frozenset(_OF_ALL_ROWS.split())
"""Words that say something of more rows than those named."""

_SUPERLATIVES = frozenset(["best", "bottom", "first", "last", "least", "maximum", "minimum", "most", "top", "worst"])
"""Words that say something of the ends of a column or table; besides these, words that end in "est"."""

_WHOLE = 4
"""Times the inputs of the training, up to which all rows are read if there is no superlative."""


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
        whole = self._encoded(example, ()) if may_fit(example.table, _WHOLE * self.most) else None
        if whole is not None and self._fits(whole):
            return whole
        named = named_rows(example.question, example.table)
        of_ends = any(map(_is_superlative, named.others))
        if whole is not None and not of_ends and whole.encoded.full_length <= _WHOLE * self.most:
            return whole
        return self._among_others(example, named, of_ends) or whole or self._encoded(example, ())

    def _among_others(self, example: Example, named: NamedRows, of_ends: bool) -> Reading | None:
        """Encode the rows that a statement needs and as many others as fit; None: these do not, or do not suffice."""
        if not named.suffice or named.others & _TO_ALL_ROWS:
            return None
        ends = end_rows(example.question, example.table) if of_ends else ()
        rows, *groups = _groups(named)
        reading = self._encoded(example, _together(rows, ends))
        if not self._fits(reading):
            return None
        for of_name in groups:
            more = self._encoded(example, _together(rows, of_name, ends))
            if 2 * more.encoded.full_length <= self.most:
                reading, rows = more, _together(rows, of_name)
        filled = self._filled(example, reading)
        return filled._replace(others=len(filled.rows) - len(rows))

    def _filled(self, example: Example, reading: Reading) -> Reading:
        """Add rows from all parts of the table until the input is full."""
        needed, count = reading.rows, self.most // example.table.num_columns
        rest = [row for row in range(example.table.num_rows) if row not in {*needed}]
        while count > 0:
            others = [rest[place * len(rest) // count] for place in range(count)]
            filled = self._encoded(example, _together(needed, others))
            if self._fits(filled):
                return filled
            room, added = (one - reading.encoded.full_length for one in (self.most, filled.encoded.full_length))
            count = min(count - 1, count * room // added)
        return reading

    def _encoded(self, example: Example, rows: Rows) -> Reading:
        (reading,) = encoded(self.encode, [example], [rows])
        return reading

    def _fits(self, reading: Reading) -> bool:
        return reading.encoded.full_length <= self.most


def _is_superlative(word: str) -> bool:
    return word in _SUPERLATIVES or word.endswith("est")


def _together(*groups: Sequence[int]) -> Rows:
    return tuple(sorted({*chain(*groups)}))


def _groups(named: NamedRows) -> list[Rows]:
    """The rows that have most of the names, if that is several, then those of each name, the rarest name first.

    The first are needed. The others may leave half of an input to rows that are not named.
    """
    of_several = [named.rows] if named.most > 1 else []
    return [*of_several, *sorted(named.of_names, key=len)]
