"""Train a model on a task, or go on with it, and end with the official metric beside the baselines."""

from __future__ import annotations

from rich.console import Console

from mate_cli.config.train import TrainConfig
from mate_cli.system.errors import UserError
from mate_cli.system.importing import without_collection
from mate_cli.system.memory import keep_freed_memory
from mate_cli.system.ranks import is_first_rank


def run(config: TrainConfig) -> None:
    """Train, then score the best model on the task's report split."""
    with without_collection():
        from mate_cli.inference.evaluate import evaluate_run
        from mate_cli.kinds.registry import kind_of
        from mate_cli.reporting.evaluation import record_and_show
        from mate_cli.reporting.question_sources import show_question_sources
        from mate_cli.training.fit import train

    if config.dry_run:
        _show_memory(config)
        return
    keep_freed_memory()
    console, split = Console(soft_wrap=True, quiet=not is_first_rank()), config.task.report_split
    show_question_sources(config.task, config.data_dir, config.paths, console)
    folder = train(config, console)
    if not is_first_rank():
        if config.hardware.strategy == "spmd":  # the program of the first host's predictions needs all of them
            evaluate_run(folder, config, config.hardware, split, console)
        return
    try:
        evaluation = evaluate_run(folder, config, config.hardware, split, console)
        lead = record_and_show(folder, split, evaluation, console).lead
        folder.finish()
    finally:
        folder.release()
    console.print(f"\nrun folder: {folder.path}", highlight=False)
    if lead is not None and lead[1] < 0:
        line = f"not yet useful: the baseline '{lead[0]}' needs no training and scores higher"
        console.print(line, highlight=False, markup=False)
        console.print(f"try: {_remedy(config)}", highlight=False, markup=False)
    else:
        command = kind_of(config.task).next_command.format(run=folder.path)
        console.print(f"next: {command}", highlight=False, markup=False)


def _show_memory(config: TrainConfig) -> None:
    """Print what a training would take of a device.

    Raises:
        UserError: it does not fit.
    """
    from mate_cli.reporting.memory import memory_lines, memory_table
    from mate_cli.training.dry_run import plan_memory

    console = Console(soft_wrap=True)
    plan = plan_memory(config, console)
    console.print(memory_table(plan))
    for line in memory_lines(plan):
        console.print(line, highlight=False, markup=False)
    if plan.refusal is not None:
        raise UserError(f"refused: {plan.refusal}")


def _remedy(config: TrainConfig) -> str:
    """Return what is most likely to lift a model above its baselines."""
    schedule = config.schedule or config.task.default_schedule
    remedies = []
    if schedule == "smoke":
        longer = [name for name in reversed(config.task.schedules) if name != "smoke"]
        remedies.append(f"a longer schedule: schedule={', '.join(longer)}")
    if config.backbone.source == "random":
        remedies.append("pre-trained weights: backbone=minilm")
    return (
        "; ".join(remedies)
        or "a longer training (epochs=... or steps=...), another lr=..., other weights (backbone=...)"
    )
