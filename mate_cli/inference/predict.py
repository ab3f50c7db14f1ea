"""One question on one table, answered by a trained run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.models.weights import load_model
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.table_qa import TableAnswer
from mate_cli.tasks.task import Prediction
from mate_cli.training.backend import collator_for
from mate_cli.training.devices import resolve_devices
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.tasks import task_of


class Answerer:
    """A run's best model, ready for questions on a user's tables, in 32 bits.

    Raises:
        UserError: the run's model is another one than its configuration says.
    """

    def __init__(self, folder: RunFolder, trained: TrainConfig, hardware: HardwareConfig) -> None:
        model = load_model(folder.best_model, trained.model.heads, trained.task.kind)
        self.device = resolve_devices(hardware).device_type
        self.options = encoding_options(trained.task, active_schedule(trained), model.config)
        self.tokenizer = CellTokenizer(folder.best_model)
        self.tokenizer.check_fits(model.config.vocab_size)
        backend = trained.model.attention.backend
        self.collator = collator_for(model.config, trained.model, backend, self.device)
        self.module = TaskModule(model, task_of(trained.task)).to(self.device).eval()

    def answer(self, example: Example) -> Prediction:
        """What the model says of one example.

        Raises:
            UserError: the table does not fit at one word a cell.
        """
        (encoded,) = encode([example], self.tokenizer, self.options)
        if isinstance(encoded.outcome, TooLarge):
            raise UserError(f"{example.table.id}: {encoded.outcome.reason}; ask on fewer rows or columns")
        batch = self.collator([row_of(example, encoded.outcome)]).to(self.device)
        with torch.inference_mode():
            (prediction,) = self.module.predict(batch)
        return prediction

    def converse(self, example: Example, before: Sequence[str]) -> Prediction:
        """``answer`` to the last question of a conversation, each told what was answered to the one before it."""
        for question in before:
            told = self.answer(replace(example, question=question))
            assert isinstance(told, TableAnswer)
            example = replace(example, previous=told.cells, earlier=(*example.earlier, question))
        return self.answer(example)


def predict_cells(
    folder: RunFolder, trained: TrainConfig, hardware: HardwareConfig, example: Example
) -> CellPrediction:
    """The cells of a user's table, ranked by a selector.

    Raises:
        UserError: as ``Answerer``.
    """
    prediction = Answerer(folder, trained, hardware).answer(example)
    assert isinstance(prediction, CellPrediction)
    return prediction
