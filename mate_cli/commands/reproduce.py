"""Make a table or figure of the paper: plan it, run what is missing, print ours beside the paper's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mate_cli.config.reproduce import ReproduceConfig
from mate_cli.reporting.runs import report_broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mate_cli.reproduction.experiment import Experiment
    from mate_cli.reproduction.ledger import Ledger
    from mate_cli.reproduction.steps import Step


def run(config: ReproduceConfig) -> None:
    """Show the plan, carry it out, print and write the results.

    Raises:
        UserError: no such table, mistakes in the command line, or failed steps.
    """
    from mate_cli.reproduction.carry_out import raise_failures
    from mate_cli.reproduction.experiment import chosen_experiments
    from mate_cli.reproduction.ledger import Ledger
    from mate_cli.reproduction.plan import wanted_steps

    console = Console(soft_wrap=True)
    experiments = chosen_experiments(config.what)
    ledger = Ledger(config, _backbone_words())
    steps = wanted_steps(experiments, config)
    report_broken(ledger.broken)
    _show_plan(steps, ledger, console)
    failures = {} if config.dry_run else _carry_out(experiments, steps, ledger, console)
    for experiment in experiments:
        _report(experiment, ledger, console)
    raise_failures(failures)


def _backbone_words() -> list[str]:
    """Return the backbone arguments as typed; they go to the first training of each chain."""
    return [word for word in sys.argv[2:] if word.partition("=")[0].partition(".")[0] == "backbone"]


def _show_plan(steps: Sequence[Step], ledger: Ledger, console: Console) -> None:
    from mate_cli.reproduction.plan import commands, plan, plan_summary, plan_table

    planned = plan(steps, ledger)
    if planned:
        console.print(plan_table(planned))
    for line in plan_summary(planned, ledger):
        console.print(line, highlight=False, markup=False)
    to_do = list(commands(planned, ledger)) if ledger.config.dry_run else []
    if to_do:
        console.print("commands of the trainings, in order; on several hosts run each on all of them:")
    for line in to_do:
        console.print(line, highlight=False, markup=False)


def _carry_out(
    experiments: Sequence[Experiment], steps: Sequence[Step], ledger: Ledger, console: Console
) -> dict[Step, str]:
    """Run the missing steps; then, for each row, the steps of its median run alone."""
    from mate_cli.reproduction.carry_out import carry_out, check_weights
    from mate_cli.reproduction.outcome import median_steps

    def tell(line: str) -> None:
        console.print(line, highlight=False, markup=False)

    check_weights(steps, ledger)
    failures = carry_out(steps, ledger, tell)
    later = [step for step in median_steps(experiments, ledger) if step not in steps]
    return failures | carry_out(later, ledger, tell)


def _report(experiment: Experiment, ledger: Ledger, console: Console) -> None:
    from mate_cli.reproduction.outcome import outcome
    from mate_cli.reproduction.report import (
        agreement_table,
        caption_of,
        draw_experiment,
        outcome_tables,
        rank_lines,
        write_outcome,
    )

    folder, result = Path(ledger.config.to), outcome(experiment, ledger)
    for table in outcome_tables(result):
        console.print(table)
    console.print(caption_of(result, ledger), highlight=False, markup=False)
    for line in rank_lines(result):
        console.print(line, highlight=False, markup=False)
    order = agreement_table(result)
    if order is not None:
        console.print(order)
    figures = draw_experiment(experiment, ledger, folder)
    written = write_outcome(result, ledger, figures, folder)
    if not written:
        line = f"{folder}/{experiment.name}.csv has more values than these runs give: kept; to=DIR writes elsewhere"
        console.print(line, highlight=False, markup=False)
    names = [*written, *(figure.name for figure in figures)]
    if names:
        console.print(f"{folder}: {', '.join(names)}", highlight=False, markup=False)
