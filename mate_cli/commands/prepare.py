"""Read, check and encode the data of a task; say what is in it, what was cut and what was left out."""

from __future__ import annotations

from mate_cli.config import PrepareConfig


def run(config: PrepareConfig) -> None:
    """Prepare every split that the data has."""
    import time

    from rich.console import Console

    from mate_cli.config import active_schedule
    from mate_cli.reporting.splits import SplitFacts, coverage_table, encoding_table, left_out_lines, statistics_table
    from mate_cli.tables.split_statistics import statistics
    from mate_cli.training.splits import data_sources, encoding_options, open_split
    from mate_cli.training.starting_model import encoding_model
    from mate_cli.training.tasks import task_of

    console = Console(soft_wrap=True)
    task, schedule = task_of(config.task), active_schedule(config)
    vocabulary, model = encoding_model(config.backbone, config.model, schedule.max_tokens)
    options = encoding_options(config.task, schedule, model)
    facts = []
    for base in data_sources(config.task, config.data_dir, config.paths):
        started = time.monotonic()
        source = task.source(base, training=base.split == "train")
        encoded = open_split(source, vocabulary, options, config.paths, console, config.workers)
        seconds = time.monotonic() - started
        facts.append(SplitFacts(base.split, statistics(base.read()), encoded, seconds))
    console.print(statistics_table(facts))
    console.print(encoding_table(facts))
    if options.spans:
        console.print(coverage_table(facts, schedule.max_tokens))
    for line in left_out_lines(facts):
        console.print(line, highlight=False, markup=False)
