"""The splits of a task: where their files are, and their encoded rows."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from mate_cli.config.paths import PathsConfig, cache_folder
from mate_cli.config.task import Scheduled, TaskConfig, active_schedule
from mate_cli.encoding.cache import EncodedSplit, open_cache
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import DataSource, SplitSource
from mate_cli.models.configuration import MateConfig
from mate_cli.system.errors import UserError
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.formats import FORMATS
from mate_cli.tasks.task import Task


def data_source(task: TaskConfig, split: str, data_dir: str | None, paths: PathsConfig) -> DataSource:
    """Where the questions of a split come from.

    Raises:
        UserError: as ``data_folder``.
    """
    return DataSource(task.format, data_folder(task, data_dir, paths), split)


def data_sources(task: TaskConfig, data_dir: str | None, paths: PathsConfig) -> list[DataSource]:
    """The splits that the data has, in their order.

    Raises:
        UserError: as ``data_folder``, the folder is not in the layout of its data, or it has no split.
    """
    folder = data_folder(task, data_dir, paths)
    splits = FORMATS[task.format].LAYOUT.present_splits(folder)
    return [DataSource(task.format, folder, split) for split in splits]


def encoding_options(config: Scheduled, task: Task, model: MateConfig) -> EncodingOptions:
    """Return how the examples of a task are encoded for a model.

    Args:
        task: the objective that ``config`` describes (``mate_cli.kinds.registry.task_of``).

    Raises:
        UserError: the model cannot read so many tokens.
    """
    assert config.task is not None
    schedule = active_schedule(config)
    max_tokens = schedule.max_tokens
    if model.heads == "linformer" and max_tokens > model.linformer_tokens:
        raise UserError(
            f"max_tokens={max_tokens} is more than the {model.linformer_tokens} tokens that this Linformer was made "
            "for; keep max_tokens as it was in training, or train again"
        )
    options = EncodingOptions(
        max_tokens,
        None if config.task.expansion == "all" else config.task.sentences,
        config.task.input,  # type: ignore[arg-type]
        model.reset_position_index_per_cell,
        model.max_position_embeddings,
        model.histogram_row,
        prune=schedule.prune,  # type: ignore[arg-type]
    )
    return task.encoding(options)


def open_split(
    source: SplitSource,
    vocabulary: Path,
    options: EncodingOptions,
    paths: PathsConfig,
    console: Console,
    processes: int | None = None,
) -> EncodedSplit:
    """The encoded rows of a split, from the cache or into it."""
    processes = processes or os.cpu_count() or 1
    split = open_cache(source, vocabulary, options, cache_folder(paths), processes, console)
    report = split.report
    if report.left_out or report.missing_tables:
        console.print(
            f"{source.split}: {len(report.left_out)} of {report.questions} questions do not fit {report.max_tokens} "
            f"tokens at one word a cell, {report.missing_tables} have no table; they are left out"
        )
    return split


def without_ambiguous(split: EncodedSplit, console: Console) -> EncodedSplit:
    """The rows with at most one candidate cell: the paper's ablation "- ambiguous" (checklist 98); says how many go.

    Raises:
        UserError: none is left to train on.
    """
    counts = [len(rows) for rows in split.dataset["candidate_rows"]]
    kept = [number for number, count in enumerate(counts) if count <= 1]
    if len(kept) == len(counts):  # a reader's: each is about one cell
        return split
    console.print(f"train: {len(counts) - len(kept):,} of {len(counts):,} questions have several candidates; left out")
    if not any(counts[number] for number in kept):
        raise UserError("task.ambiguous=false leaves no question with a candidate to train on")
    return replace(split, dataset=split.dataset.select(kept))
