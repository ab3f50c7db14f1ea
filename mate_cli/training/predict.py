"""One question on one table, answered by a trained run."""

from __future__ import annotations

import torch

from mate_cli.config import HardwareConfig, TrainConfig, active_schedule
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.errors import UserError
from mate_cli.models.weights import load_model
from mate_cli.tables.table import Example
from mate_cli.tasks.cell_selection import CellPrediction, CellSelection
from mate_cli.training.backend import collator_for
from mate_cli.training.devices import resolve_devices
from mate_cli.training.module import TaskModule
from mate_cli.training.run_folder import RunFolder
from mate_cli.training.splits import encoding_options


def predict_cells(
    folder: RunFolder, trained: TrainConfig, hardware: HardwareConfig, example: Example
) -> CellPrediction:
    """Rank the cells of a user's table, in 32 bits.

    Raises:
        UserError: the table does not fit at one word a cell.
    """
    model = load_model(folder.best_model, trained.model.heads)
    device = resolve_devices(hardware).device_type
    limit = active_schedule(trained).max_tokens
    options = encoding_options(trained.task, limit, model.config)
    (encoded,) = encode([example], CellTokenizer(folder.best_model), options)
    if isinstance(encoded.outcome, TooLarge):
        raise UserError(f"{example.table.id}: {encoded.outcome.reason}; ask on fewer rows or columns")
    collator = collator_for(model.config, trained.model, trained.model.attention.backend, device)
    batch = collator([row_of(example, encoded.outcome)]).to(device)
    with torch.inference_mode():
        (prediction,) = TaskModule(model, CellSelection()).to(device).predict(batch)
    assert isinstance(prediction, CellPrediction)
    return prediction
