"""One question on one table, answered by a trained run."""

from __future__ import annotations

from pathlib import Path

import torch

from mate_cli.config import PredictConfig, active_schedule, load_run_config
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.errors import UserError
from mate_cli.models.weights import load_model
from mate_cli.tables.table import Example, Table
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.training.backend import collator_for
from mate_cli.training.devices import resolve_devices
from mate_cli.training.module import CellSelectionModule
from mate_cli.training.run_folder import RunFolder
from mate_cli.training.splits import encoding_options


def predict_cells(config: PredictConfig, table: Table) -> CellPrediction:
    """Rank the cells of a user's table, in 32 bits.

    Raises:
        UserError: no such run, or the table does not fit at one word a cell.
    """
    folder, trained = RunFolder(Path(config.run)), load_run_config(config.run)
    if not folder.best_model.is_dir():
        raise UserError(f"{folder.path} has no model yet; train it to the end with resume=true")
    model = load_model(folder.best_model, trained.model.heads)
    device = resolve_devices(config.hardware).device_type
    limit = active_schedule(trained).max_tokens
    options = encoding_options(trained.task, limit, model.config)
    example = Example("question", config.question, table)
    (encoded,) = encode([example], CellTokenizer(folder.best_model), options)
    if isinstance(encoded.outcome, TooLarge):
        raise UserError(f"{config.table}: {encoded.outcome.reason}; ask on fewer rows or columns")
    collator = collator_for(model.config, trained.model, trained.model.attention.backend, device)
    batch = collator([row_of(example, encoded.outcome)]).to(device)
    with torch.inference_mode():
        (prediction,) = CellSelectionModule(model).to(device).rank(batch)
    return prediction
