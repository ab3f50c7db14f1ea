"""Score a trained run on a split, beside baselines that need no training (checklist 37, 38, 60)."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from mate_cli.config import HardwareConfig, TrainConfig
from mate_cli.encoding.source import BlankedSource, SplitSource
from mate_cli.training.data import batch_loader
from mate_cli.training.devices import loader_workers
from mate_cli.training.evaluations import CellEvaluation, Evaluation, ReadingEvaluation
from mate_cli.training.predictor import Predictor
from mate_cli.training.run_folder import RunFolder
from mate_cli.training.splits import data_source, open_split
from mate_cli.training.tasks import task_of

_EVALUATIONS: dict[str, type[CellEvaluation] | type[ReadingEvaluation]] = {
    "cell_selection": CellEvaluation,
    "span_reading": ReadingEvaluation,
}


def evaluate_run(
    folder: RunFolder,
    config: TrainConfig,
    hardware: HardwareConfig,
    split: str,
    console: Console,
    data_dir: str | None = None,
    blank_question: bool = False,
) -> Evaluation:
    """Predict every question of a split with a run's best model, and with the baselines.

    Raises:
        UserError: the run has no model, it is another one than its configuration says, or the data is not there.
    """
    base = data_source(config.task, split, data_dir or config.data_dir, config.paths)
    asked = BlankedSource(base) if blank_question else base
    predictions = predict_split(folder, config, hardware, task_of(config.task).source(asked, training=False), console)
    # The baselines read the questions in any case: they show what the model had to beat.
    examples = base.read().examples
    return _EVALUATIONS[config.task.kind].of(examples, predictions)


def predict_split(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, source: SplitSource, console: Console
) -> dict[str, Any]:
    """What a run's best model predicts, by example id; examples that do not fit have no prediction.

    Args:
        source: the examples as the task has them (``Task.source``).
    """
    predictor = Predictor(folder, config, hardware)
    rows = open_split(source, folder.best_model, predictor.options, config.paths, console)
    loader = batch_loader(
        rows.dataset, predictor.collator, loader_workers(hardware), batch_size=predictor.hardware.micro_batch
    )
    return {prediction.id: prediction for prediction in predictor.predict(loader)}
