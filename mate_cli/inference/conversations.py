"""Answer conversations turn by turn, each question with the predicted answer to the one before.

This is SQA's official setting, "sequence" in the release (docs/notes.md, note 33).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.source import SplitSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.predictor import Predictor
from mate_cli.runs.folder import RunFolder
from mate_cli.tables.table import Coordinate
from mate_cli.tasks.table_qa import TableAnswer

Turn = tuple[str, int]
"""The id of a conversation, and a position in it."""


def predict_conversations(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, source: SplitSource
) -> dict[str, TableAnswer]:
    """Answer with a run's best model, by example id: all first questions, then all second ones, and so on.

    A question whose predecessor is missing or did not fit gets no previous answer. Questions that do not fit have no
    prediction.
    """
    predictor, tokenizer = Predictor(folder, config, hardware), CellTokenizer(folder.best_model)
    answers: dict[str, TableAnswer] = {}
    cells: dict[Turn, tuple[Coordinate, ...]] = {}
    by_position = attrgetter("position")
    for _, questions in groupby(sorted(source.read().examples, key=by_position), key=by_position):
        turns = [replace(e, previous=cells.get((e.conversation, e.position - 1), ())) for e in questions]
        turn_of: dict[str, Turn] = {example.id: (example.conversation, example.position) for example in turns}
        for answer in predictor.predict_rows(rows_that_fit(turns, tokenizer, predictor.options)):
            assert isinstance(answer, TableAnswer)
            answers[answer.id], cells[turn_of[answer.id]] = answer, answer.cells
    return answers
