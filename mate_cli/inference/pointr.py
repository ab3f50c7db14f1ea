"""PointR: a selector points to cells, a reader reads an answer from them (paper section 5, checklist 38 to 44).

The reader reads what the selector was allowed to see. A selector trained with ``task.input=table`` or ``passages``
thus gives the baselines that Chen et al. (2020) call Table-Only and Passage-Only; theirs are other systems under
the same limits, so that the published figures are no target for these. Three selectors need no training:

- ``oracle``: every cell that holds the answer; of several, the one in which the reader is surest of its span. What
  the reader could reach behind a perfect selector (checklist 60), not a bound on what it can guess
- ``tfidf_cell``, ``tfidf_sentence``: the first cell of these rankings (``metrics.baselines``)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from mate_cli.config.choices import one_for_each
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.inference import SELECTORS
from mate_cli.encoding.source import SplitSource
from mate_cli.inference.evaluate import predict_split
from mate_cli.inference.reading import read_examples
from mate_cli.inference.stages import Pipeline
from mate_cli.metrics.baselines import tfidf_cell_ranking, tfidf_sentence_ranking
from mate_cli.tables.reading import reading_example
from mate_cli.tables.table import Coordinate, Example
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.pointr import ReadCell

Selection = Mapping[str, Sequence[tuple[Coordinate, float]]]
"""Question id -> the cells to read, best first, with p(cell)."""


def select(
    pipeline: Pipeline,
    source: SplitSource,
    examples: Sequence[Example],
    top: int,
    hardware: HardwareConfig,
    console: Console,
) -> Selection:
    """The cells to read of each question; of a question that the selector cannot read there are none."""
    if isinstance(pipeline.selector, str):
        return _NAMED[pipeline.selector](examples)
    stage = pipeline.selector
    ranked = predict_split(stage.folder, stage.config, hardware, source, console)
    return {name: top_cells(prediction, top) for name, prediction in ranked.items()}


def top_cells(prediction: CellPrediction, top: int) -> list[tuple[Coordinate, float]]:
    """The best ``top`` cells of a ranking."""
    return list(zip(prediction.cells, prediction.probabilities, strict=True))[:top]


def read_cells(
    pipeline: Pipeline,
    examples: Sequence[Example],
    selection: Selection,
    hardware: HardwareConfig,
    console: Console,
) -> dict[str, tuple[ReadCell, ...]]:
    """The cells of the selection with the span that the reader finds in each, by question id, every question."""
    reading = {
        (example.id, cell): reading_example(example, cell, pipeline.input)
        for example in examples
        for cell, _ in selection.get(example.id, ())
    }
    stage = pipeline.reader
    spans = read_examples(stage.folder, stage.config, hardware, list(reading.values()), console) if reading else {}

    def read(example: Example, cell: Coordinate, probability: float) -> ReadCell:
        span, text = spans[reading[example.id, cell].id], example.table.rows[cell[0]][cell[1]].text
        return ReadCell(*cell, probability, text, span.text, span.start, span.end, span.probability)

    return {
        example.id: tuple(read(example, cell, probability) for cell, probability in selection.get(example.id, ()))
        for example in examples
    }


def _oracle(examples: Sequence[Example]) -> Selection:
    return {e.id: [(cell, 1 / len(e.candidates)) for cell in e.candidates] for e in examples}


def _first_of(rank: Callable[[Sequence[Example]], Mapping[str, Sequence[Coordinate]]]) -> Callable[..., Selection]:
    return lambda examples: {name: [(cells[0], 1.0)] for name, cells in rank(examples).items() if cells}


_NAMED: dict[str, Callable[[Sequence[Example]], Selection]] = one_for_each(
    SELECTORS,
    {
        "oracle": _oracle,
        "tfidf_cell": _first_of(tfidf_cell_ranking),
        "tfidf_sentence": _first_of(lambda examples: tfidf_sentence_ranking(examples)),
    },
)
