"""The splits of a task: their files and their encoded rows."""

from __future__ import annotations

import os
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
    """Return the source of the questions of a split.

    Raises:
        UserError: as ``data_folder``.
    """
    return DataSource(task.format, data_folder(task, data_dir, paths), split)


def check_split(source: DataSource) -> None:
    """Check that the questions of a split are there, without reading them.

    Statements are made of tables, for any split.

    Raises:
        UserError: they are not.
    """
    layout = FORMATS[source.format].LAYOUT
    if layout.questions:
        layout.question_file(source.data_dir, source.split)


def data_sources(task: TaskConfig, data_dir: str | None, paths: PathsConfig) -> list[DataSource]:
    """Return the splits of the data, in order.

    Raises:
        UserError: as ``data_folder``; or the folder has another layout, or no split.
    """
    folder = data_folder(task, data_dir, paths)
    splits = FORMATS[task.format].LAYOUT.present_splits(folder)
    return [DataSource(task.format, folder, split) for split in splits]


def encoding_options(config: Scheduled, task: Task, model: MateConfig) -> EncodingOptions:
    """Return the encoding options of a task for a model.

    Args:
        task: the objective of ``config`` (``mate_cli.kinds.registry.task_of``).

    Raises:
        UserError: the schedule has more tokens than the model can read.
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
        model.positions,
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
    """Open the encoded rows of a split; encode and cache them if needed."""
    processes = processes or os.cpu_count() or 1
    split = open_cache(source, vocabulary, options, cache_folder(paths), processes, console)
    report = split.report
    if report.left_out or report.missing_tables:
        console.print(
            f"{source.split}: {len(report.left_out)} of {report.questions} questions do not fit {report.max_tokens} "
            f"tokens at one word a cell, {report.missing_tables} have no table; they are left out"
        )
    return split
