"""Train a model on a task, or go on with it, and end with the official metric beside the baselines."""

from __future__ import annotations

from mate_cli.config.train import TrainConfig


def run(config: TrainConfig) -> None:
    """Train, then score the best model on the task's report split."""
    from rich.console import Console

    from mate_cli.inference.evaluate import evaluate_run
    from mate_cli.kinds.registry import kind_of
    from mate_cli.reporting.evaluation import record_and_show
    from mate_cli.system.ranks import is_first_rank
    from mate_cli.training.fit import train

    console, split = Console(soft_wrap=True, quiet=not is_first_rank()), config.task.report_split
    folder = train(config, console)
    if not is_first_rank():
        return
    try:
        record_and_show(folder, split, evaluate_run(folder, config, config.hardware, split, console), console)
        folder.finish()
    finally:
        folder.release()
    console.print(f"\nrun folder: {folder.path}", highlight=False)
    console.print(f"next: {kind_of(config.task).next_command.format(run=folder.path)}", highlight=False, markup=False)
