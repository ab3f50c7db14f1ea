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
from mate_cli.training.backend import collator_for, inference_backend
from mate_cli.training.devices import resolve_devices
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.tasks import task_of


class Answerer:
    """A run's best model, ready for questions on a user's tables, in the precision of the device.

    Raises:
        UserError: the run's model is another one than its configuration says.
    """

    def __init__(self, folder: RunFolder, trained: TrainConfig, hardware: HardwareConfig) -> None:
        model = load_model(folder.best_model, trained.model.heads, trained.task.kind)
        self.devices = resolve_devices(hardware).alone()
        self.options = encoding_options(trained.task, active_schedule(trained), model.config)
        self.tokenizer = CellTokenizer(folder.best_model)
        self.tokenizer.check_fits(model.config.vocab_size)
        self.collator = collator_for(
            model.config,
            trained.model,
            inference_backend(trained.model),
            self.devices.device_type,
            self.devices.low_precision,
        )
        self.module = TaskModule(model, task_of(trained.task)).to(self.devices.device_type).eval()

    def answer(self, example: Example) -> Prediction:
        """What the model says of one example.

        Raises:
            UserError: the table does not fit at one word a cell.
        """
        (encoded,) = encode([example], self.tokenizer, self.options)
        if isinstance(encoded.outcome, TooLarge):
            raise UserError(self._too_large(encoded.outcome, encoded.full_length))
        device = self.devices.device_type
        batch = self.collator([row_of(example, encoded.outcome)]).to(device)
        with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=self.devices.low_precision):
            (prediction,) = self.module.predict(batch)
        return prediction

    def _too_large(self, outcome: TooLarge, needed: int) -> str:
        """Why a table of ``needed`` tokens, with nothing cut, is refused, and what helps."""
        config = self.module.model.config
        limits = [config.linformer_tokens] if config.heads == "linformer" else []
        if not self.options.reset_positions:
            limits.append(self.options.max_positions)
        more = f"add max_tokens={needed}, or " if needed <= min(limits, default=needed) else ""
        return (
            f"table {outcome.table_id!r} and the question need {needed} tokens, and this run reads "
            f"{outcome.limit}; {more}ask about fewer rows or columns"
        )

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
