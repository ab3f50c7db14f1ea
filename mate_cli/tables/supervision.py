"""Find the cells of answers that are known only by their texts, as WikiTableQuestions' (docs/notes.md, note 19)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.text import convert_to_float, words_and_marks, wtq_normalize

SEVERAL_CELLS = "an answer is in several cells"
SHARED_CELL = "two answers are in one cell"
NOT_ALL_FOUND = "not all of its answers are in the table"
NOT_FOUND = "its answer is neither in the table nor a number"


@dataclass(frozen=True, slots=True)
class Supervision:
    """The targets of a question; empty if there are none, with the reason in ``problem``.

    Attributes:
        cells: cells of the answers, row-major.
        value: the answer as a number, if it is a single one; without cells, an operator computes it.
        problem: why there are no targets; "" if there are.
    """

    cells: tuple[Coordinate, ...] = ()
    value: float | None = None
    problem: str = ""


class _AmbiguousError(Exception):
    """The cells of the answers are ambiguous."""


class SupervisionFinder:
    """Finds answers in one table; its texts are normalized at most once.

    A cell matches an answer if the two are equal: verbatim, in lower case, as words and marks, or in
    WikiTableQuestions' normal form. The first of these forms in which every answer is found decides, unless it is
    ambiguous and a later one is not.
    """

    def __init__(self, table: Table) -> None:
        texts = [((r, c), cell.text) for r, row in enumerate(table.rows) for c, cell in enumerate(row)]
        forms: tuple[Callable[[str], Hashable], ...] = (
            str,
            str.lower,
            lambda text: tuple(words_and_marks(text)),
            wtq_normalize,
        )
        self._forms = [_Form(texts, normalise) for normalise in forms]

    def find(self, answers: Sequence[str], strict: bool) -> Supervision:
        """Return the cells and the value of ``answers``.

        Args:
            strict: whether an answer in several cells is ambiguous, as in training; otherwise its last cell in the
                order of rows is taken, as by the release with the SciPy of its time.
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
        """Return all cells that match one of ``answers``, row-major, in the first form that finds each answer."""
        return next(filter(None, (form.every_cell(answers) for form in self._forms)), ())

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
    """The cells of a table by one normal form, computed on demand."""

    def __init__(self, texts: Sequence[tuple[Coordinate, str]], normalise: Callable[[str], Hashable]) -> None:
        self._texts, self._normalise = texts, normalise

    @cached_property
    def _places(self) -> dict[Hashable, list[Coordinate]]:
        places: dict[Hashable, list[Coordinate]] = {}
        for place, text in self._texts:
            places.setdefault(self._normalise(text), []).append(place)
        return places

    def cells(self, answers: Sequence[str], strict: bool) -> tuple[Coordinate, ...]:
        """Return one cell per answer, row-major; none if an answer is not found."""
        counts = Counter(map(self._normalise, answers))
        if not all(text in self._places for text in counts):
            return ()
        if strict and any(len(self._places[text]) > 1 for text in counts):
            raise _AmbiguousError(SEVERAL_CELLS)
        if max(counts.values()) > 1:
            raise _AmbiguousError(SHARED_CELL)
        return tuple(sorted(self._places[text][-1] for text in counts))

    def every_cell(self, answers: Sequence[str]) -> tuple[Coordinate, ...]:
        """Return all cells of the answers, row-major; none if an answer is not found."""
        texts = {self._normalise(answer) for answer in answers}
        if not all(text in self._places for text in texts):
            return ()
        return tuple(sorted(place for text in texts for place in self._places[text]))


def _value(answer: str) -> float | None:
    """Convert an answer to a number; None for "nan" and "inf", with which no operator can be trained."""
    try:
        value = convert_to_float(answer)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
