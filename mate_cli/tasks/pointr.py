"""Choose one answer from the cells that the selector ranks and the spans that the reader finds in them.

The paper reads the likeliest cell alone (section 4.2). Here several may be read: the answer is the span of the cell
with the greatest p(cell) * p(span | cell)^weight, with a weight fitted on training data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mate_cli.metrics.hybridqa import exact_match, f1

WEIGHTS = tuple(number / 10 for number in range(21))
"""Weights for ``fit_weight``: 0 is the selector alone, 1 the plain product, 2 counts the reader twice."""


@dataclass(frozen=True, slots=True)
class ReadCell:
    """A body cell, and the likeliest span that the reader finds in it.

    Attributes:
        probability: p(cell), from the selector.
        text: the cell's own text; span: the answer, "" without a span.
        start, end: characters of the reading text, end exclusive.
        span_probability: p(span | cell), from the reader; 0 without a span.
    """

    row: int
    column: int
    probability: float
    text: str
    span: str
    start: int
    end: int
    span_probability: float

    def joint(self, weight: float) -> float:
        """p(cell) * p(span | cell)^weight, between 0 and 1; at weight 0 the selector decides alone."""
        return self.probability * self.span_probability**weight


@dataclass(frozen=True, slots=True)
class WeightFit:
    """The weight with the highest exact match, and the exact match of each weight."""

    weight: float
    exact: dict[float, float]


def choose(cells: Sequence[ReadCell], weight: float) -> int | None:
    """The index of the cell with the greatest joint score, the first of equals; None without cells."""
    if not cells:
        return None
    return max(range(len(cells)), key=lambda place: (cells[place].joint(weight), -place))


def fit_weight(questions: Sequence[Sequence[ReadCell]], golds: Sequence[Sequence[str]]) -> WeightFit:
    """Try every weight of ``WEIGHTS`` on the cells read for training questions.

    The highest exact match wins; ties go to the higher F1, then to the weight nearest to 1.

    Raises:
        ValueError: no question.
    """
    if not questions:
        raise ValueError("no question to fit a weight on")
    pairs = list(zip(questions, golds, strict=True))
    exact = [[exact_match(cell.span, gold) for cell in cells] for cells, gold in pairs]
    overlap = [[f1(cell.span, gold) for cell in cells] for cells, gold in pairs]
    merits = {weight: _merit(questions, exact, overlap, weight) for weight in WEIGHTS}
    best = max(WEIGHTS, key=lambda weight: (*merits[weight], -abs(weight - 1), -weight))
    return WeightFit(best, {weight: merit[0] for weight, merit in merits.items()})


def _merit(
    questions: Sequence[Sequence[ReadCell]],
    exact: Sequence[Sequence[float]],
    overlap: Sequence[Sequence[float]],
    weight: float,
) -> tuple[float, float]:
    """Mean exact match and F1 with a weight; a question without a cell scores 0."""
    places = [choose(cells, weight) for cells in questions]
    chosen = [(number, place) for number, place in enumerate(places) if place is not None]
    totals = (sum(scores[number][place] for number, place in chosen) for scores in (exact, overlap))
    return tuple(total / len(questions) for total in totals)  # type: ignore[return-value]
