"""The training and validation rows of a run: two encoded splits, or a corpus of tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.history import HistorySource
from mate_cli.encoding.masked_rows import HeldOut, MaskedStream
from mate_cli.encoding.row_fields import row_field
from mate_cli.encoding.source import DataSource, DrawnSource, PartSource, SplitSource, UnseenSource
from mate_cli.system.errors import UserError
from mate_cli.tables.data_folder import mixed_folder
from mate_cli.tasks.task import Task
from mate_cli.training.corpus import masking_options, open_corpus
from mate_cli.training.splits import check_split, data_source, open_split

if TYPE_CHECKING:
    from datasets import Dataset

_LENGTHS_SEEN = 64


@dataclass(frozen=True)
class Rows:
    """
    Attributes:
        train, dev, is_stream: as in ``TaskDataModule``; the length of ``train`` is an epoch.
        mean_length: mean number of tokens of a training example.
    """

    train: Any
    dev: Any
    is_stream: bool
    mean_length: float


def open_rows(config: TrainConfig, task: Task, options: EncodingOptions, vocabulary: Path, console: Console) -> Rows:
    """Open the rows of a configuration; encode them unless they are cached.

    Raises:
        UserError: the data is missing, broken, or too little to train and validate on; no split to report on.
    """
    if config.task.traits.learns_from_corpus:
        return _corpus_rows(config, options, vocabulary, console)
    return _split_rows(config, task, options, vocabulary, console)


def _split_rows(config: TrainConfig, task: Task, options: EncodingOptions, vocabulary: Path, console: Console) -> Rows:
    train, dev = _sources(config)
    check_split(data_source(config.task, config.task.report_split, config.data_dir, config.paths))
    limit = active_schedule(config).validate_on
    scored = dev if limit is None else DrawnSource(dev, limit)
    if history := config.task.qa.history:
        train = HistorySource(train, Path(history).expanduser())
    train_split = open_split(task.source(train, training=True), vocabulary, options, config.paths, console)
    dev_split = open_split(task.source(scored, training=False), vocabulary, options, config.paths, console)
    if not len(dev_split.dataset):
        part = "the held-out part of train" if active_schedule(config).held_out else "dev"
        raise UserError(f"{part}: no question can be read, to choose the best model by; check the data")
    rows = train_split.dataset
    if not config.task.ambiguous:
        rows = without_ambiguous(rows, console)
    rows = keep_learnable(rows, task.scorable(rows), console)
    if made := config.task.mixed.format:
        source: SplitSource = DataSource(made, mixed_folder(config.task, config.paths), "train")
        if active_schedule(config).held_out:  # or the checkpoint that knows the held-out tables best would be chosen
            source = UnseenSource(source, (dev,))
        others = open_split(task.source(source, training=True), vocabulary, options, config.paths, console).dataset
        others = keep_learnable(others, task.scorable(others), console)
        own, rows = len(rows), mixed_rows(rows, others, config.task.mixed.share, config.seed)
        console.print(f"train: {own:,} examples, and {len(rows) - own:,} of {made}")
    return Rows(rows, dev_split.dataset, is_stream=False, mean_length=float(row_field(rows, "length").mean()))


def _sources(config: TrainConfig) -> tuple[SplitSource, SplitSource]:
    """Return the questions to train on and those to choose the best checkpoint with."""
    train = data_source(config.task, "train", config.data_dir, config.paths)
    if share := active_schedule(config).held_out:
        return PartSource(train, share, held_out=False), PartSource(train, share, held_out=True)
    return train, data_source(config.task, "dev", config.data_dir, config.paths)


def keep_learnable(rows: Dataset, has_loss: np.ndarray, console: Console) -> Dataset:
    """Keep the rows that have a loss, and print how many go: they would fill batches and teach nothing.

    Args:
        has_loss: bool ``[rows]`` (``Task.scorable``).

    Raises:
        UserError: no row has one.
    """
    if not has_loss.any():
        raise UserError(f"none of the {len(rows):,} training examples has an answer to learn from; check the data")
    return _keep(rows, has_loss, "examples have no answer to learn from", console)


def without_ambiguous(rows: Dataset, console: Console) -> Dataset:
    """Keep the rows with at most one candidate cell (the ablation "- ambiguous" of table 6); print how many go.

    Raises:
        UserError: no row with a candidate is left.
    """
    counts = np.array([len(places) for places in rows["candidate_rows"][:]])
    if not (counts == 1).any():
        raise UserError("task.ambiguous=false leaves no question with a candidate to train on")
    return _keep(rows, counts <= 1, "questions have several candidates", console)


def mixed_rows(rows: Dataset, others: Dataset, share: float, seed: int) -> Dataset:
    """Return rows with others after them, drawn at random, that make up ``share`` of all; fewer if there are fewer."""
    from datasets import concatenate_datasets

    wanted = min(round(len(rows) * share / (1 - share)), len(others))
    places = np.random.default_rng(seed).choice(len(others), wanted, replace=False)
    return concatenate_datasets([rows, others.select(np.sort(places))])


def _keep(rows: Dataset, is_kept: np.ndarray, why_not: str, console: Console) -> Dataset:
    if is_kept.all():
        return rows
    console.print(f"train: {np.count_nonzero(~is_kept):,} of {len(rows):,} {why_not}; left out")
    return rows.select(np.flatnonzero(is_kept))


def _corpus_rows(config: TrainConfig, options: EncodingOptions, vocabulary: Path, console: Console) -> Rows:
    corpus = open_corpus(config.task, config.data_dir, vocabulary, config.paths, console)
    masking = masking_options(config.task, options)
    train = MaskedStream(corpus, masking, config.seed)
    dev = HeldOut(corpus, masking, active_schedule(config).validate_on)
    held_out = sum(map(len, corpus.manifest.held_out))
    console.print(f"corpus: {len(train):,} tables to train on, {held_out:,} held out")
    lengths = [len(train[place]["input_ids"]) for place in range(min(len(train), _LENGTHS_SEEN))]
    return Rows(train, dev, is_stream=True, mean_length=float(np.mean(lengths)))
