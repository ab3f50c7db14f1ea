"""The training and validation rows of a run: two encoded splits, or a corpus of tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.masked_rows import HeldOut, MaskedStream
from mate_cli.encoding.source import DrawnSource
from mate_cli.tasks.task import Task
from mate_cli.training.corpus import masking_options, open_corpus
from mate_cli.training.splits import data_source, open_split, without_ambiguous

_LENGTHS_SEEN = 64


@dataclass(frozen=True)
class Rows:
    """
    Attributes:
        train, dev, scorable: as in ``TaskDataModule``; the length of ``train`` is an epoch.
        mean_length: mean number of tokens of a training example.
    """

    train: Any
    dev: Any
    scorable: np.ndarray | None
    mean_length: float


def open_rows(config: TrainConfig, task: Task, options: EncodingOptions, vocabulary: Path, console: Console) -> Rows:
    """Open the rows of a configuration; encode them unless they are cached.

    Raises:
        UserError: the data is missing, broken, or too little to train on.
    """
    if config.task.traits.learns_from_corpus:
        return _corpus_rows(config, options, vocabulary, console)
    return _split_rows(config, task, options, vocabulary, console)


def _split_rows(config: TrainConfig, task: Task, options: EncodingOptions, vocabulary: Path, console: Console) -> Rows:
    train, dev = (data_source(config.task, name, config.data_dir, config.paths) for name in ("train", "dev"))
    limit = active_schedule(config).validate_on
    scored = dev if limit is None else DrawnSource(dev, limit)
    train_split = open_split(task.source(train, training=True), vocabulary, options, config.paths, console)
    dev_split = open_split(task.source(scored, training=False), vocabulary, options, config.paths, console)
    if not config.task.ambiguous:
        train_split = without_ambiguous(train_split, console)
    scorable = task.scorable(train_split.dataset)
    return Rows(train_split.dataset, dev_split.dataset, scorable, train_split.report.mean_length)


def _corpus_rows(config: TrainConfig, options: EncodingOptions, vocabulary: Path, console: Console) -> Rows:
    corpus = open_corpus(config.task, config.data_dir, vocabulary, config.paths, console)
    masking = masking_options(config.task, options)
    train = MaskedStream(corpus, masking, config.seed)
    dev = HeldOut(corpus, masking, active_schedule(config).validate_on)
    held_out = sum(map(len, corpus.manifest.held_out))
    console.print(f"corpus: {len(train):,} tables to train on, {held_out:,} held out")
    lengths = [len(train[place]["input_ids"]) for place in range(min(len(train), _LENGTHS_SEEN))]
    return Rows(train, dev, None, float(np.mean(lengths)))
