"""From the cells that the selector ranks and the spans that the reader finds in them to one answer.

The paper reads the likeliest cell alone (checklist 44). Here several may be read: the answer is the span of the
cell with the greatest p(cell) * p(span | cell)^weight. The weight is fixed on training data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mate_cli.metrics.hybridqa import exact_match, f1

WEIGHTS = tuple(number / 10 for number in range(21))
"""What ``fit_weight`` tries: from the selector alone (0) past the plain product (1) to twice the reader (2)."""


@dataclass(frozen=True, slots=True)
class ReadCell:
    """A body cell that was read, and the span that the reader likes best in it.

    Attributes:
        probability: p(cell) by the selector.
        text: the cell's own text; span: the answer, "" where the cell holds no span.
        start, end: characters of the reading text, end exclusive.
        span_probability: p(span | cell) by the reader, 0 without a span.
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
    """The weight that answers most questions exactly, and the share that each weight answers."""

    weight: float
    exact: dict[float, float]


def choose(cells: Sequence[ReadCell], weight: float) -> int | None:
    """The place of the cell with the greatest joint score, of equals the first; None of no cell."""
    if not cells:
        return None
    return max(range(len(cells)), key=lambda place: (cells[place].joint(weight), -place))


def fit_weight(questions: Sequence[Sequence[ReadCell]], golds: Sequence[Sequence[str]]) -> WeightFit:
    """Try every weight of ``WEIGHTS`` on the cells read for training questions.

    The greatest exact match wins, of equals the greatest F1, then the weight nearest to the plain product.

    Raises:
        ValueError: no question.
    """
    if not questions:
        raise ValueError("no question to fit a weight on")
    exact = [[exact_match(cell.span, gold) for cell in own] for own, gold in zip(questions, golds, strict=True)]
    overlap = [[f1(cell.span, gold) for cell in own] for own, gold in zip(questions, golds, strict=True)]
    merits = {weight: _merit(questions, exact, overlap, weight) for weight in WEIGHTS}
    best = max(WEIGHTS, key=lambda weight: (*merits[weight], -abs(weight - 1), -weight))
    return WeightFit(best, {weight: merit[0] for weight, merit in merits.items()})


def _merit(
    questions: Sequence[Sequence[ReadCell]],
    exact: Sequence[Sequence[float]],
    overlap: Sequence[Sequence[float]],
    weight: float,
) -> tuple[float, float]:
    """Mean exact match and F1 of what a weight chooses; a question without a cell scores 0."""
    places = [choose(cells, weight) for cells in questions]
    chosen = [(number, place) for number, place in enumerate(places) if place is not None]
    totals = (sum(scores[number][place] for number, place in chosen) for scores in (exact, overlap))
    return tuple(total / len(questions) for total in totals)  # type: ignore[return-value]
