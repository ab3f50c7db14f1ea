"""Answer one question on one table with a trained run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.models.weights import load_model
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.task import Prediction
from mate_cli.training.backend import collator_for, inference_backend
from mate_cli.training.devices import resolve_devices
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options


class Answerer:
    """A run's best model, ready for questions on a user's tables, in the precision of the device.

    Raises:
        UserError: the run's model does not match its configuration.
    """

    def __init__(self, folder: RunFolder, trained: TrainConfig, hardware: HardwareConfig) -> None:
        self.kind, task = kind_of(trained.task), task_of(trained)
        model = load_model(folder.best_model, self.kind.model, trained.model.heads)
        self.devices = resolve_devices(hardware).alone()
        self.options = encoding_options(trained, task, model.config)
        self.tokenizer = CellTokenizer(folder.best_model)
        self.tokenizer.check_fits(model.config.vocab_size)
        self.collator = collator_for(
            model.config,
            trained.model,
            inference_backend(trained.model),
            self.devices.device_type,
            self.devices.low_precision,
        )
        self.module = TaskModule(model, task).to(self.devices.device_type).eval()

    def answer(self, example: Example) -> Prediction:
        """Predict one example.

        Raises:
            UserError: the table does not fit, even with one word in each cell.
        """
        (encoded,) = encode([example], self.tokenizer, self.options)
        if isinstance(encoded.outcome, TooLarge):
            raise UserError(self._too_large(encoded.outcome, encoded.full_length))
        device = self.devices.device_type
        batch = self.collator([row_of(example, encoded)]).to(device)
        with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=self.devices.low_precision):
            (prediction,) = self.module.predict(batch)
        return prediction

    def _too_large(self, outcome: TooLarge, needed: int) -> str:
        """The message for a table that needs ``needed`` tokens uncut, with a remedy."""
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
        """Answer the last question of a conversation, each with the answer to the one before."""
        for question in before:
            assert self.kind.answering is not None
            cells, _ = self.kind.answering.chosen(self.answer(replace(example, question=question)))
            example = replace(example, previous=cells, earlier=(*example.earlier, question))
        return self.answer(example)

    def record(self, example: Example, before: Sequence[str], top: int) -> dict[str, Any]:
        """Answer as ``converse``, and return what ``mate predict output=json`` prints.

        Args:
            top: number of cells that a selector names.
        """
        assert self.kind.answering is not None
        return self.kind.answering.record(example.question, example.table, self.converse(example, before), top)


def predict_cells(
    folder: RunFolder, trained: TrainConfig, hardware: HardwareConfig, example: Example
) -> CellPrediction:
    """Rank the cells of a user's table with a selector.

    Raises:
        UserError: as ``Answerer``.
    """
    prediction = Answerer(folder, trained, hardware).answer(example)
    assert isinstance(prediction, CellPrediction)
    return prediction
