"""A trained reader on reading examples from anywhere: the second stage of PointR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from torch.utils.data import DataLoader, IterableDataset

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import encode, reading_row_of
from mate_cli.encoding.features import EncodingOptions, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.predictor import Predictor
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example
from mate_cli.tasks.span_reading import SpanPrediction

_ENCODED_AT_ONCE = 64


def read_examples(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, examples: Sequence[Example], console: Console
) -> dict[str, SpanPrediction]:
    """The best span of each reading example (``mate_cli.tables.reading.reading_example``), by its id.

    An example without a valid span, or one that does not fit, has the empty text with probability 0.

    Args:
        folder, config: the reader's run and the configuration that it was trained with.

    Raises:
        UserError: the run is no reader's, or has no model.
    """
    if config.task.traits.role != "reader":
        raise UserError(f"{folder.path} is a run of task={config.task.name}; name the run of a reader")
    predictor = Predictor(folder, config, hardware)
    rows = _EncodedRows(examples, CellTokenizer(folder.best_model), predictor.options)
    loader = DataLoader(rows, batch_size=hardware.micro_batch, collate_fn=predictor.collator)
    found = {example.id: SpanPrediction(example.id) for example in examples}
    found |= {p.id: p for p in predictor.predict(loader) if isinstance(p, SpanPrediction)}
    if rows.left_out:
        console.print(f"{rows.left_out} of {len(examples)} questions are too long for the reader; they have no answer")
    return found


class _EncodedRows(IterableDataset[dict[str, Any]]):
    """Encodes examples while they are read, so that no more than a few are in memory."""

    def __init__(self, examples: Sequence[Example], tokenizer: CellTokenizer, options: EncodingOptions) -> None:
        self.examples, self.tokenizer, self.options = examples, tokenizer, options
        self.left_out = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self.examples), _ENCODED_AT_ONCE):
            some = self.examples[start : start + _ENCODED_AT_ONCE]
            for example, encoded in zip(some, encode(some, self.tokenizer, self.options), strict=True):
                if isinstance(encoded.outcome, TooLarge):
                    self.left_out += 1
                else:
                    yield reading_row_of(example, encoded)
