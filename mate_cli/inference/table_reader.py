"""What a model reads of a user's table, so that it reads large ones as it learned to read small ones.

Of a table that needs more tokens than the inputs of the training, the rows that the question names are read alone. If
it names none, or needs others, a table of more than twice as many tokens is read in parts: the model chooses cells in
each, and their rows are read again, until they fit together. In one input of thousands of tokens, which it was not
trained on, it mixes up rows. What it counts or adds up are some of the rows, which it misses more often in parts, or
most of them: then the answers of the parts are put together.

Of a table that it reads together it may choose the cheapest of all hotels for "the cheapest hotel in Porto", or add up
all rows: if a cell of the answer is in none of several rows that the question names, these are read alone. So is a
single named row for a list without a cell of it, unless words like "the largest" or "or" may look past the row. Counts
stay, as a name may be a part of the cells that are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mate_cli.encoding.features import TooLarge
from mate_cli.inference.reading import Advance, Assembled, Encode, Reading, Rows, encoded, may_fit
from mate_cli.tables.aggregation import COUNT, NONE
from mate_cli.tables.answer_form import names_extreme
from mate_cli.tables.asked_rows import asked_rows
from mate_cli.tables.named_rows import named_rows
from mate_cli.tables.table import Coordinate, Example

_TOGETHER, _COMPUTED, _CONVERSED = 2.0, 8.0, math.inf
"""Times the inputs of the training, up to which rows are read together: usually, to compute, and for follow-ups."""

_SHRUNK = 0.75
"""Share of the rows that the next parts have at most; where parts point to more of them, these belong to the answer."""

_MOST_NAMED = 4
"""Rows, named or of the answer before, that join each part, to be compared with its own; of more, each has some."""


class PartChoice(NamedTuple):
    """What a model chooses in a part of a table.

    Attributes:
        prediction: with its cells placed in the asked table.
        cells: those of the answer; computes: whether they are counted, added up or the like.
    """

    prediction: Any
    cells: tuple[Coordinate, ...]
    computes: bool


class TableReader(NamedTuple):
    """
    Attributes:
        combine: puts the predictions of parts together (``QuestionAnswering.combined``).
        batch: how many parts are read at once.
        most: tokens of the inputs of the training; None: read all rows together, whatever they need.
        limit: tokens that an input may have, at least ``most``.
    """

    encode: Encode
    choose: Callable[[Sequence[Reading]], list[PartChoice]]
    combine: Callable[[Sequence[Any]], Any] | None
    batch: int
    most: int | None
    limit: int

    def read(self, examples: Sequence[Example], advance: Advance) -> list[Reading | Assembled]:
        """Choose the rows to read for each example and encode them.

        A follow-up, whose conversation may be about any row, is read with all rows that an input may have. If a row
        does not fit by itself, the longest such row is the reading.
        """
        if self.most is None:
            return [*self._encoded(examples, [()] * len(examples))]
        rows = [_named_alone(example) if self._is_long(example, (), 1) else () for example in examples]
        short = [
            number
            for number, (example, own) in enumerate(zip(examples, rows, strict=True))
            if not self._is_long(example, own, _times(example))
        ]
        encoded = self._encoded([examples[number] for number in short], [rows[number] for number in short])
        read = dict(zip(short, encoded, strict=True))
        return [
            self._narrowed(example, own, read.get(number), advance)
            for number, (example, own) in enumerate(zip(examples, rows, strict=True))
        ]

    def again(self, reading: Reading, cells: Sequence[Coordinate], operator: str) -> Reading | None:
        """Encode the rows that the question names, if they have not all cells of the answer; none, if it is one row or
        a time or a limit tells them apart, as then the other cells are left out.

        Args:
            cells, operator: of the answer to ``reading``, which has all rows; else there is nothing to read again.
        """
        if self.most is None or reading.rows or operator == COUNT.name:
            return None
        named, chosen = _named_alone(reading.asked), {row for row, _ in cells}
        if not named or chosen <= {*named}:
            return None
        if len(named) == 1 and (operator != NONE.name or _may_answer(reading.asked, named[0], cells)):
            return None
        if chosen & {*named} and asked_rows(reading.asked.question, reading.asked.table).by_value:
            return None
        (alone,) = self._encoded([reading.asked], [named])
        return alone if self._fits(alone, 1) else None

    def _narrowed(self, asked: Example, rows: Rows, reading: Reading | None, advance: Advance) -> Reading | Assembled:
        """Return a reading as long as can be read together, if there is one; ``reading`` is that of ``rows``."""
        if reading is not None and self._fits(reading, 1):
            return reading
        if not rows and (rows := _named_alone(asked)):
            reading = self._together(asked, rows, _TOGETHER)
        if reading is not None and self._fits(reading, _times(asked)):
            return reading
        return self._in_parts(asked, rows or tuple(range(asked.table.num_rows)), advance)

    def _in_parts(self, asked: Example, rows: Rows, advance: Advance) -> Reading | Assembled:
        """Read rows in parts, again and again, until those that they point to fit together, or are nearly all."""
        named, count, shrink = self._joining(asked), 0, True
        combined: Assembled | None = None
        while shrink and len(parts := self._parts(asked, rows, named)) > 1:
            if unfit := [part for part in parts if isinstance(part.encoded.outcome, TooLarge)]:
                return max(unfit, key=lambda part: part.encoded.full_length)
            choices = self._choices(parts, advance)
            if self.combine is not None:
                answer = self.combine([choice.prediction for choice in choices])
                combined = Assembled(asked, answer, count + len(parts))
                if 2 * sum(choice.computes for choice in choices) > len(parts):
                    if 2 * len(answer.cells) > len(rows):
                        return combined
                    reading = self._together(asked, rows, _COMPUTED)
                    if reading is not None and self._fits(reading, _COMPUTED):
                        return reading._replace(parts=count)
            found = {row for choice in choices for row, _ in choice.cells}
            kept = tuple(sorted({*found, *named})) if found else parts[0].rows
            shrink = len(kept) <= _SHRUNK * len(rows)
            rows, count = kept, count + len(parts)
        (reading,) = self._encoded([asked], [rows])
        is_short = reading.encoded.full_length <= self.limit
        return combined if combined is not None and not (shrink or is_short) else reading._replace(parts=count)

    def _joining(self, asked: Example) -> Rows:
        """The rows that join each part: those named, or of the answer before, if they leave half of it to others."""
        assert self.most is not None
        named = () if asked.passages else named_rows(asked.question, asked.table).rows
        rows = tuple(sorted({row for row, _ in asked.previous})) if _follows_up(asked) else named
        if not 0 < len(rows) <= _MOST_NAMED:
            return ()
        (reading,) = self._encoded([asked], [rows])
        return rows if 2 * reading.encoded.full_length <= self.most else ()

    def _choices(self, parts: Sequence[Reading], advance: Advance) -> list[PartChoice]:
        choices: list[PartChoice] = []
        for start in range(0, len(parts), self.batch):
            choices += self.choose(parts[start : start + self.batch])
            advance(len(choices), len(parts))
        return choices

    def _together(self, asked: Example, rows: Rows, times: float) -> Reading | None:
        """Encode rows unless they are so many times longer than an input of the training by their cells alone."""
        return None if self._is_long(asked, rows, times) else self._encoded([asked], [rows])[0]

    def _parts(self, asked: Example, rows: Rows, named: Rows) -> list[Reading]:
        """Divide rows into parts that fit, in order; a row that is too long for one is a part of its own."""
        assert self.most is not None
        parts: list[tuple[Rows, Reading]] = []
        waiting = _divided(rows, max(1, self.most // asked.table.num_columns))
        while waiting:
            read = self._encoded([asked] * len(waiting), [tuple(sorted({*part, *named})) for part in waiting])
            pairs, waiting = list(zip(waiting, read, strict=True)), []
            for part, reading in pairs:
                if len(part) == 1 or self._fits(reading, 1):
                    parts.append((part, reading))
                else:
                    pieces = -(-reading.encoded.full_length // self.most)
                    waiting += _divided(part, -(-len(part) // pieces))
        return [reading for _, reading in sorted(parts, key=lambda pair: pair[0])]

    def _fits(self, reading: Reading, times: float) -> bool:
        return reading.encoded.full_length <= self._most(times)

    def _is_long(self, example: Example, rows: Rows, times: float) -> bool:
        return not may_fit(example.table, self._most(times), rows)

    def _most(self, times: float) -> int:
        assert self.most is not None
        return int(min(self.most * times, self.limit))

    def _encoded(self, examples: Sequence[Example], rows: Sequence[Rows]) -> list[Reading]:
        return encoded(self.encode, examples, rows)


def _named_alone(example: Example) -> Rows:
    """The rows that the question names, where it needs no others; linked passages name others."""
    if _follows_up(example) or example.passages:
        return ()
    named = asked_rows(example.question, example.table)
    return named.rows if named.suffice and len(named.rows) < example.table.num_rows else ()


def _may_answer(example: Example, named: int, cells: Sequence[Coordinate]) -> bool:
    """Whether cells may answer a question that names a row: one is as in it, or others are compared with it."""
    rows = example.table.rows
    is_as_named = any(rows[row][column].text == rows[named][column].text for row, column in cells)
    return is_as_named or names_extreme(example.question) or " or " in example.question.lower()


def _follows_up(example: Example) -> bool:
    return bool(example.earlier or example.previous)


def _times(example: Example) -> float:
    """How many times the inputs of the training are read together."""
    return _CONVERSED if _follows_up(example) else _TOGETHER


def _divided(rows: Rows, size: int) -> list[Rows]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]
