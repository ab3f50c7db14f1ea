"""Score a trained run on a split with the official metric, beside the baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mate_cli.config import EvaluateConfig

if TYPE_CHECKING:
    from rich.console import Console

    from mate_cli.training.evaluate import Evaluation
    from mate_cli.training.run_folder import RunFolder


def run(config: EvaluateConfig) -> None:
    """Rank the cells of the split, write the predictions, print and keep the scores."""
    from pathlib import Path

    from rich.console import Console

    from mate_cli.config import load_run_config
    from mate_cli.training.evaluate import evaluate_run
    from mate_cli.training.run_folder import RunFolder

    console, folder = Console(soft_wrap=True), RunFolder(Path(config.run))
    trained = load_run_config(folder.path)
    trained.paths = config.paths
    evaluation = evaluate_run(
        folder, trained, config.hardware, config.split, console, config.data_dir, config.blank_question
    )
    label = f"{config.split}-blank" if config.blank_question else config.split
    report(folder, label, evaluation, console)


def report(folder: RunFolder, label: str, evaluation: Evaluation, console: Console) -> None:
    """Keep predictions and scores in the run folder, and show the scores."""
    from mate_cli.reporting.scores import score_record, score_summary, score_table

    folder.write_predictions(label, evaluation.predictions.values())
    rankings = {example_id: prediction.cells for example_id, prediction in evaluation.predictions.items()}
    record = score_record(evaluation.examples, rankings, evaluation.baselines, evaluation.random_hits)
    folder.write_metrics(label, record)
    if not record["questions"]:
        console.print(f"{label} is blind: predictions written, nothing to score")
        return
    console.print(score_table(f"{label}: Hits@k, per cent", record))
    console.print(score_summary(record), highlight=False)
