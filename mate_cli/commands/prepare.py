"""Read, check and encode the data of a task; say what is in it, what was cut and what was left out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mate_cli.config.paths import cache_folder
from mate_cli.config.task import active_schedule
from mate_cli.config.train import PrepareConfig
from mate_cli.reporting.progress import downloads
from mate_cli.reporting.question_sources import show_question_sources
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_json
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.download import fetch_release, release_folder
from mate_cli.tables.queries.folder import copy_questions
from mate_cli.tables.releases import RELEASES

if TYPE_CHECKING:
    from mate_cli.reporting.splits import SplitCounts


def run(config: PrepareConfig) -> None:
    """Prepare every split that the data has, or the shards of a corpus."""
    console = Console(soft_wrap=True)
    _fetch(config, console)
    show_question_sources(config.task, config.data_dir, config.paths, console)
    if config.task.traits.learns_from_corpus:
        _prepare_corpus(config, console)
    elif not config.encode:
        _count(config, console)
    else:
        _prepare_splits(config, console)


def _fetch(config: PrepareConfig, console: Console) -> None:
    """Fetch the official files of the task's data, where no folder is named and they are not there yet."""
    name, cache = config.task.format, cache_folder(config.paths)
    if config.data_dir is not None or name not in RELEASES or release_folder(name, cache).is_dir():
        return

    def waiting() -> None:
        console.print("another process fetches the same data; waiting for it")

    with downloads(console) as advance:
        folder = fetch_release(name, cache, config.mirror, advance, waiting)
    console.print(f"fetched to {folder}, SHA-256 as published; licence: {RELEASES[name].licence}", markup=False)


def _prepare_splits(config: PrepareConfig, console: Console) -> None:
    from mate_cli.kinds.registry import task_of
    from mate_cli.reporting.splits import (
        SplitCounts,
        SplitFacts,
        coverage_table,
        encoding_table,
        left_out_lines,
        statistics_table,
    )
    from mate_cli.training.splits import data_sources, encoding_options, open_split
    from mate_cli.training.starting_model import encoding_model

    task, schedule = task_of(config), active_schedule(config)
    vocabulary, model = encoding_model(config.backbone, config.model, schedule.max_tokens)
    options = encoding_options(config, task, model)
    facts = []
    counts = SplitCounts()
    for base in data_sources(config.task, config.data_dir, config.paths):
        started = time.monotonic()
        source = task.source(base, training=base.split == "train")
        encoded = open_split(source, vocabulary, options, config.paths, console, config.workers)
        seconds = time.monotonic() - started
        facts.append(SplitFacts(base.split, counts.add(base.split, base.read()), encoded, seconds))
    console.print(statistics_table(counts.splits))
    _write(config, counts, console)
    console.print(encoding_table(facts))
    if options.spans:
        console.print(coverage_table(facts, schedule.max_tokens))
    for line in left_out_lines(facts):
        console.print(line, highlight=False, markup=False)


def _count(config: PrepareConfig, console: Console) -> None:
    from mate_cli.reporting.splits import SplitCounts, statistics_table
    from mate_cli.training.splits import data_sources

    counts = SplitCounts()
    for source in data_sources(config.task, config.data_dir, config.paths):
        counts.add(source.split, source.read())
    console.print(statistics_table(counts.splits))
    _write(config, counts, console)


def _write(config: PrepareConfig, counts: SplitCounts, console: Console) -> None:
    if config.to is not None:
        with written_to(Path(config.to)):
            write_json(Path(config.to, "statistics.json"), counts.plain())
            names = ["statistics.json"]
            if config.task.format == "queries":
                names += copy_questions(data_folder(config.task, config.data_dir, config.paths), Path(config.to))
        console.print(f"{config.to}: {', '.join(names)}", highlight=False, markup=False)


def _prepare_corpus(config: PrepareConfig, console: Console) -> None:
    from mate_cli.reporting.splits import corpus_table
    from mate_cli.training.corpus import open_corpus
    from mate_cli.training.starting_model import encoding_model

    vocabulary, _ = encoding_model(config.backbone, config.model, active_schedule(config).max_tokens)
    corpus = open_corpus(config.task, config.data_dir, vocabulary, config.paths, console, config.workers, config.to)
    console.print(corpus_table(corpus.manifest))
    console.print(f"shards: {corpus.folder.url}", highlight=False, markup=False)
