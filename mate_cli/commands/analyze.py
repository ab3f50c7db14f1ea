"""Analyse data: which share of rows and columns the paper's bucketed attention sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mate_cli.config import AnalyzeConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from mate_cli.analysis.coverage import Document


def run(config: AnalyzeConfig) -> None:
    """Count, print a table, write it with the numbers and a picture."""
    import sys
    from itertools import product
    from pathlib import Path

    from rich.console import Console

    from mate_cli.analysis.coverage import count_coverage
    from mate_cli.attention import Buckets
    from mate_cli.reporting.coverage import CAPTION, coverage_tables, write_coverage

    console = Console(soft_wrap=True)
    settings = [Buckets(*sizes) for sizes in product(config.analysis.global_sizes, config.analysis.radii)]
    counts = count_coverage(_documents(config, console), settings)
    for table in coverage_tables(counts):
        console.print(table)
    console.print(CAPTION)
    write_coverage(counts, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: coverage.json, coverage.md, coverage.png", highlight=False, markup=False)


def _documents(config: AnalyzeConfig, console: Console) -> Iterable[Document]:
    """The examples of a task, or generated tables where there is none."""
    from mate_cli.analysis.coverage import encoded_documents, generated_documents
    from mate_cli.config import active_schedule
    from mate_cli.encoding.source import HybridQASource
    from mate_cli.training.splits import data_folder, encoding_options, open_split
    from mate_cli.training.starting_model import vocabulary_folder

    task = config.task
    if task is None:
        return generated_documents()
    source = HybridQASource(data_folder(task, config.data_dir, config.paths), config.split)
    vocabulary, model = vocabulary_folder(config.backbone)
    options = encoding_options(task, active_schedule(config).max_tokens, model)
    split = open_split(source, vocabulary, options, config.paths, console)
    return encoded_documents(f"{task.name} {config.split}", split.dataset)
