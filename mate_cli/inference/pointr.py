"""PointR (paper section 4): a selector points to cells, a reader reads an answer in them.

The reader sees the same part of the input as the selector: ``task.input=table`` and ``passages`` give baselines with
the limits of Table-Only and Passage-Only of Chen et al. (2020). Three selectors need no training:

- ``oracle``: every cell that holds the answer; the reader's most confident span wins. The score of the reader behind a
  perfect selector
- ``tfidf_cell``, ``tfidf_sentence``: the first cell of these rankings (``metrics.baselines``)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from torch.utils.data import DataLoader, IterableDataset

from mate_cli.config.choices import one_for_each
from mate_cli.config.evaluation import SELECTORS
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import SplitSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.evaluate import predict_split
from mate_cli.inference.predictor import Predictor
from mate_cli.inference.stages import Pipeline
from mate_cli.metrics.baselines import tfidf_cell_ranking, tfidf_sentence_ranking
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.reading import reading_example
from mate_cli.tables.table import Coordinate, Example
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.pointr import ReadCell
from mate_cli.tasks.span_reading import SpanPrediction

_ENCODED_AT_ONCE = 64

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
    """Select the cells to read for each question; questions that do not fit the selector are missing."""
    if isinstance(pipeline.selector, str):
        return _NAMED[pipeline.selector](examples)
    stage = pipeline.selector
    ranked = predict_split(stage.folder, stage.config, hardware, source, console)
    return {name: top_cells(prediction, top) for name, prediction in ranked.items()}


def top_cells(prediction: CellPrediction, top: int) -> list[tuple[Coordinate, float]]:
    """The best ``top`` cells of a ranking."""
    return list(zip(prediction.cells, prediction.probabilities, strict=True))[:top]


def read_cells(
    pipeline: Pipeline, examples: Sequence[Example], selection: Selection, hardware: HardwareConfig, console: Console
) -> dict[str, tuple[ReadCell, ...]]:
    """Read the selected cells; question id -> cells with their spans, for every question."""
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


def read_examples(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, examples: Sequence[Example], console: Console
) -> dict[str, SpanPrediction]:
    """Read the best span of each reading example (``mate_cli.tables.reading.reading_example``), by its id.

    An example without a valid span, or one that does not fit, has an empty text with probability 0.

    Args:
        folder, config: the reader's run and its training configuration.

    Raises:
        UserError: the run is not a reader's, or has no model.
    """
    if config.task.traits.role != "reader":
        raise UserError(f"{folder.path} is a run of task={config.task.name}; name the run of a reader")
    predictor = Predictor(folder, config, hardware)
    rows = _EncodedRows(examples, CellTokenizer(folder.best_model), predictor.options)
    loader = DataLoader(rows, batch_size=hardware.prediction_batch, collate_fn=predictor.collator)
    spans = {p.id: p for p in predictor.predict(loader) if isinstance(p, SpanPrediction)}
    if left_out := len(examples) - len(spans):
        console.print(f"{left_out} of {len(examples)} questions are too long for the reader; they have no answer")
    return {example.id: spans.get(example.id, SpanPrediction(example.id)) for example in examples}


class _EncodedRows(IterableDataset[dict[str, Any]]):
    """Encode examples while they are read, so that only a few are in memory."""

    def __init__(self, examples: Sequence[Example], tokenizer: CellTokenizer, options: EncodingOptions) -> None:
        self.examples, self.tokenizer, self.options = examples, tokenizer, options

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self.examples), _ENCODED_AT_ONCE):
            yield from rows_that_fit(self.examples[start : start + _ENCODED_AT_ONCE], self.tokenizer, self.options)


def _first_of(rank: Callable[[Sequence[Example]], Mapping[str, Sequence[Coordinate]]]) -> Callable[..., Selection]:
    return lambda examples: {name: [(cells[0], 1.0)] for name, cells in rank(examples).items() if cells}


_NAMED: dict[str, Callable[[Sequence[Example]], Selection]] = one_for_each(
    SELECTORS,
    {
        "oracle": lambda examples: {e.id: [(cell, 1 / len(e.candidates)) for cell in e.candidates] for e in examples},
        "tfidf_cell": _first_of(tfidf_cell_ranking),
        "tfidf_sentence": _first_of(tfidf_sentence_ranking),
    },
)
