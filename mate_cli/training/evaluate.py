"""Score a trained run on a split, beside baselines that need no training (checklist 37, 38)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytorch_lightning as pl
from rich.console import Console

from mate_cli.config import HardwareConfig, TrainConfig, active_schedule
from mate_cli.encoding.sentences import split_sentences
from mate_cli.encoding.source import HybridQASource
from mate_cli.errors import UserError
from mate_cli.metrics.baselines import expected_random_hits, tfidf_cell_ranking, tfidf_sentence_ranking
from mate_cli.models.weights import load_model
from mate_cli.tables.table import Example
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.training.backend import collator_for
from mate_cli.training.data import batch_loader
from mate_cli.training.devices import loader_workers, resolve_devices
from mate_cli.training.fit import quieten_lightning
from mate_cli.training.module import CellSelectionModule
from mate_cli.training.run_folder import RunFolder
from mate_cli.training.splits import BlankedSource, data_folder, encoding_options, open_split


@dataclass(frozen=True)
class Evaluation:
    """Predictions on a split, the questions they answer, and rankings that need no training.

    Attributes:
        baselines: name -> question id -> cells, best first; random_hits: k -> Hits@k of a random order.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, CellPrediction]
    baselines: dict[str, dict[str, list[tuple[int, int]]]]
    random_hits: dict[int, float]


def evaluate_run(
    folder: RunFolder,
    config: TrainConfig,
    hardware: HardwareConfig,
    split: str,
    console: Console,
    data_dir: str | None = None,
    blank_question: bool = False,
) -> Evaluation:
    """Rank the cells of every question of a split with a run's best model, and with the baselines.

    Raises:
        UserError: the run has no model, it is another one than its configuration says, or the data is not there.
    """
    source_type = BlankedSource if blank_question else HybridQASource
    source = source_type(data_folder(config.task, data_dir or config.data_dir, config.paths), split)
    predictions = predict_split(folder, config, hardware, source, console)
    # The baselines read the questions in any case: they show what the model had to beat.
    examples = HybridQASource(source.data_dir, split).read().examples
    baselines = {
        "TF-IDF cell": tfidf_cell_ranking(examples),
        "TF-IDF sentence": tfidf_sentence_ranking(examples, split_sentences),
    }
    return Evaluation(tuple(examples), predictions, baselines, expected_random_hits(examples))


def predict_split(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, source: HybridQASource, console: Console
) -> dict[str, CellPrediction]:
    """The rankings of a run's best model by question id; questions that do not fit have none."""
    if not folder.best_model.is_dir():
        state = folder.status().get("state", "not started")
        raise UserError(f"{folder.path} has no model yet (it is {state}); train it to the end with resume=true")
    model = load_model(folder.best_model, config.model.heads)
    devices = resolve_devices(hardware)
    options = encoding_options(config.task, active_schedule(config).max_tokens, model.config)
    rows = open_split(source, folder.best_model, options, config.paths, console)
    collator = collator_for(
        model.config, config.model, config.model.attention.backend, devices.device_type, devices.low_precision
    )
    loader = batch_loader(rows.dataset, collator, loader_workers(hardware), batch_size=hardware.micro_batch)
    quieten_lightning()
    trainer = pl.Trainer(
        **devices.trainer_arguments(),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=Path(folder.path),
    )
    module = CellSelectionModule(model)
    trainer.predict(module, loader, return_predictions=False)
    return {prediction.id: prediction for prediction in module.predictions}
