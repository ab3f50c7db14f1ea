"""Conversations answered as they would be held: what a question is told of the one before is what was predicted for it.

The release's setting "sequence" (spec 3.7), and SQA's official one (checklist 120).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import EncodingOptions, TooLarge
from mate_cli.encoding.source import SplitSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.predictor import Predictor
from mate_cli.runs.folder import RunFolder
from mate_cli.tables.table import Coordinate, Example
from mate_cli.tasks.table_qa import TableAnswer

Turn = tuple[str, int]
"""A conversation and a position in it."""


def predict_conversations(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, source: SplitSource
) -> dict[str, TableAnswer]:
    """What a run's best model answers, by example id: all first questions, then all second ones, and so on.

    A question whose predecessor is not in the data, or did not fit, is told of no answer. What does not fit itself has
    no prediction.
    """
    predictor, tokenizer = Predictor(folder, config, hardware), CellTokenizer(folder.best_model)
    found: dict[str, TableAnswer] = {}
    answered: dict[Turn, tuple[Coordinate, ...]] = {}
    for asked in _by_position(source.read().examples):
        turns: dict[str, Turn] = {example.id: (example.conversation, example.position) for example in asked}
        told = [replace(e, previous=answered.get((e.conversation, e.position - 1), ())) for e in asked]
        rows = _encoded(told, tokenizer, predictor.options)
        for answer in predictor.predict_rows(rows):
            assert isinstance(answer, TableAnswer)
            found[answer.id], answered[turns[answer.id]] = answer, answer.cells
    return found


def _encoded(examples: Sequence[Example], tokenizer: CellTokenizer, options: EncodingOptions) -> list[dict[str, Any]]:
    """The rows of those that fit."""
    encoded = zip(examples, encode(examples, tokenizer, options), strict=True)
    return [row_of(example, own.outcome) for example, own in encoded if not isinstance(own.outcome, TooLarge)]


def _by_position(examples: Sequence[Example]) -> list[list[Example]]:
    """The examples at each position, first positions first."""
    position = attrgetter("position")
    return [list(own) for _, own in groupby(sorted(examples, key=position), key=position)]
