"""Where the answers of a question stand in its table, found from their texts alone (spec 3.9)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.text import convert_to_float, words_and_marks, wtq_normalize

SEVERAL_CELLS = "an answer stands in several cells"
SHARED_CELL = "two answers stand in one cell"
NOT_ALL_FOUND = "not all of its answers are in the table"
NOT_FOUND = "its answer is neither in the table nor a number"


@dataclass(frozen=True, slots=True)
class Supervision:
    """What a model can learn a question from; all empty but ``problem`` where it cannot.

    Attributes:
        cells: of the answers, row-major.
        value: the only answer as a number; where an operator makes it, there are no cells.
        problem: why there is neither; "" where there is one.
    """

    cells: tuple[Coordinate, ...] = ()
    value: float | None = None
    problem: str = ""


class _AmbiguousError(Exception):
    """The cells of the answers are not certain."""


class SupervisionFinder:
    """Finds answers in one table; its texts are normalised at most once.

    A cell holds an answer when the two are equal: as they are, or else in lower case, in words and marks, in the
    normal form of WikiTableQuestions. The first of these in which every answer is found counts, unless its cells are
    uncertain and a later one's are not.
    """

    def __init__(self, table: Table) -> None:
        self._texts = [((r, c), cell.text) for r, row in enumerate(table.rows) for c, cell in enumerate(row)]
        self._forms = [_Form(self._texts, normalise) for normalise in (str, str.lower, _tokens, wtq_normalize)]

    def find(self, answers: Sequence[str], strict: bool) -> Supervision:
        """The cells and the value of ``answers``.

        Args:
            strict: an answer that stands in several cells has none that is certain, as in training; else its last
                one is taken, in the order of rows. The release leaves that choice to an optimal assignment; since no
                cell may serve two answers, every choice is optimal, and the SciPy of its time made this one.
        """
        if not answers:
            raise ValueError("no answers")
        try:
            cells = self._cells(answers, strict)
        except _AmbiguousError as error:
            return Supervision(problem=str(error))
        value = _value(answers[0]) if len(answers) == 1 else None
        if cells or value is not None:
            return Supervision(cells, value)
        return Supervision(problem=NOT_FOUND if len(answers) == 1 else NOT_ALL_FOUND)

    def every_cell(self, answers: Sequence[str]) -> tuple[Coordinate, ...]:
        """All cells that hold one of ``answers``, row-major, in the first form in which each is found; or none."""
        found = (form.every_cell(answers) for form in self._forms)
        return next(filter(None, found), ())

    def _cells(self, answers: Sequence[str], strict: bool) -> tuple[Coordinate, ...]:
        for number, form in enumerate(self._forms, start=1):
            try:
                if cells := form.cells(answers, strict):
                    return cells
            except _AmbiguousError:
                if number == len(self._forms):
                    raise
        return ()


class _Form:
    """The cells of a table in one normal form, which is made when it is first asked for."""

    def __init__(self, texts: Sequence[tuple[Coordinate, str]], normalise: Callable[[str], Hashable]) -> None:
        self._texts, self._normalise = texts, normalise

    @cached_property
    def _places(self) -> dict[Hashable, list[Coordinate]]:
        places: dict[Hashable, list[Coordinate]] = {}
        for place, text in self._texts:
            places.setdefault(self._normalise(text), []).append(place)
        return places

    def cells(self, answers: Sequence[str], strict: bool) -> tuple[Coordinate, ...]:
        """A cell for each answer, row-major; none where one of them is not found."""
        wanted = Counter(map(self._normalise, answers))
        if not all(text in self._places for text in wanted):
            return ()
        if strict and any(len(self._places[text]) > 1 for text in wanted):
            raise _AmbiguousError(SEVERAL_CELLS)
        if max(wanted.values()) > 1:
            raise _AmbiguousError(SHARED_CELL)
        return tuple(sorted(self._places[text][-1] for text in wanted))

    def every_cell(self, answers: Sequence[str]) -> tuple[Coordinate, ...]:
        """All cells of the answers, row-major; none where one of them is not found."""
        wanted = {self._normalise(answer) for answer in answers}
        if not all(text in self._places for text in wanted):
            return ()
        return tuple(sorted(place for text in wanted for place in self._places[text]))


def _tokens(text: str) -> Hashable:
    return tuple(words_and_marks(text))


def _value(answer: str) -> float | None:
    """The answer as a number; "nan" and "inf", which the release takes for numbers, are none to compute with."""
    try:
        value = convert_to_float(answer)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
