"""Conversations answered as they would be held: what a question is told of the one before is what was predicted for it.

The release's setting "sequence" (spec 3.7), and SQA's official one (checklist 120).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from rich.console import Console

from mate_cli.config import HardwareConfig, TrainConfig
from mate_cli.encoding.source import SplitSource
from mate_cli.tables.table import Coordinate
from mate_cli.tasks.table_qa import TableAnswer
from mate_cli.training.data import batch_loader
from mate_cli.training.devices import loader_workers
from mate_cli.training.predictor import Predictor
from mate_cli.training.run_folder import RunFolder
from mate_cli.training.splits import open_split

Turn = tuple[str, int]
"""A conversation and a position in it."""


def predict_conversations(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, source: SplitSource, console: Console
) -> dict[str, TableAnswer]:
    """What a run's best model answers, by example id: all first questions, then all second ones, and so on.

    A question whose predecessor is not in the data, or did not fit, is told of no answer. What does not fit itself has
    no prediction.
    """
    predictor = Predictor(folder, config, hardware)
    rows = open_split(source, folder.best_model, predictor.options, config.paths, console).dataset
    turns: dict[str, Turn] = {
        example.id: (example.conversation, example.position) for example in source.read().examples
    }
    found: dict[str, TableAnswer] = {}
    answered: dict[Turn, tuple[Coordinate, ...]] = {}
    for numbers in _by_position(list(rows["id"]), turns):
        asked = []
        for row in (rows[number] for number in numbers):
            conversation, position = turns[row["id"]]
            asked.append(with_history(row, answered.get((conversation, position - 1), ())))
        size, workers = predictor.hardware.micro_batch, loader_workers(hardware)
        for answer in predictor.predict(batch_loader(asked, predictor.collator, workers, batch_size=size)):
            assert isinstance(answer, TableAnswer)
            found[answer.id], answered[turns[answer.id]] = answer, answer.cells
    return found


def with_history(row: Mapping[str, Any], cells: Collection[Coordinate]) -> dict[str, Any]:
    """An encoded row that is told that ``cells``, counted from 0, answered the question before it."""
    marked = np.zeros(len(row["row"]), dtype=bool)
    for place in cells:
        marked |= (row["row"] == place[0] + 1) & (row["column"] == place[1] + 1)
    return {**row, "prev_label": (marked & (row["segment"] == 1)).astype(row["prev_label"].dtype)}


def _by_position(ids: list[str], turns: Mapping[str, Turn]) -> list[list[int]]:
    """The numbers of the rows at each position, first positions first."""
    by_position: dict[int, list[int]] = {}
    for number, name in enumerate(ids):
        by_position.setdefault(turns[name][1], []).append(number)
    return [by_position[position] for position in sorted(by_position)]
