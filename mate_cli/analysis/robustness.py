"""Robustness: predictions that change when tables are perturbed, and accuracy by length.

Predictions are cells with an operator, or a label. A prediction stays the same if it chooses the same cells, wherever
they are now, and the same operator or label. Rows of other tables can change the true answer ("how many teams are
there?"), so some answers rightly change with them. A follow-up of a conversation is read with the right answer to the
question before it, not with the predicted one as in SQA's official scores. Questions of a conversation are drawn
together for the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from mate_cli.analysis.outcomes import with_answers
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.row_fields import row_field
from mate_cli.encoding.source import PerturbedSource, SplitSource
from mate_cli.inference.evaluate import predict_split
from mate_cli.kinds.kind import QuestionAnswering
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.metrics.sqa import conversation_numbers
from mate_cli.metrics.statistics import Interval, mean_interval, paired_bootstrap
from mate_cli.metrics.wtq import gold_values
from mate_cli.models.configuration import read_config
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.perturb import Arrangement, Perturbation, arrangements
from mate_cli.tables.prediction_files import TAGGED, read_tagged
from mate_cli.tables.table import Example
from mate_cli.training.splits import data_source, encoding_options, open_split


@dataclass(frozen=True)
class Sensitivity:
    """Effect of a perturbation on the questions that fit with and without it.

    Attributes:
        questions: number of questions whose table it changes.
        unread: number of these that did not fit with or without it.
        tokens: median length of the changed inputs.
        changed: share of predictions that change.
        before, after, gain: accuracy without and with the perturbation, and the difference.
        changed_ids: questions whose prediction changes.
    """

    perturbation: Perturbation
    questions: int
    unread: int
    tokens: int
    changed: Interval
    before: Interval
    after: Interval
    gain: Interval
    changed_ids: tuple[str, ...]


@dataclass(frozen=True)
class LengthBin:
    """Accuracy on the questions whose inputs have over ``tokens`` / 2 and at most ``tokens`` tokens."""

    tokens: int
    questions: int
    accuracy: Interval


@dataclass(frozen=True)
class Robustness:
    """Sensitivity and accuracy by length; follow-ups of conversations are read with the right answers before them."""

    sensitivities: tuple[Sensitivity, ...]
    lengths: tuple[LengthBin, ...]


class JudgedRun:
    """A trained run on a split, with its predictions on the unchanged tables.

    Raises:
        UserError: the run has no model or predicts neither cells nor a label, the data is missing, the split is blind.
    """

    def __init__(
        self,
        path: Path,
        config: TrainConfig,
        hardware: HardwareConfig,
        split: str,
        data_dir: str | None,
        console: Console,
    ) -> None:
        answering = kind_of(config.task).answering
        if answering is None:
            raise UserError(f"{path} is a run of task={config.task.name}, which predicts neither cells nor a label")
        self.folder, self.config, self.hardware, self.console = RunFolder(path), config, hardware, console
        self.answering, self.task = answering, task_of(config)
        self.base = data_source(config.task, split, data_dir or config.data_dir, config.paths)
        self.all_examples = tuple(self.base.read().examples)
        known = with_answers(self.all_examples, split)
        self.examples = {example.id: example for example in known}
        self.gold = gold_values(known, read_tagged(self.base.data_dir / TAGGED))
        self.predictions = self.predict(self.base)

    def predict(self, base: SplitSource) -> dict[str, Any]:
        """Return the predictions by example id; an example that does not fit has none."""
        return predict_split(self.folder, self.config, self.hardware, self._source(base), self.console)

    def lengths(self, base: SplitSource) -> dict[str, int]:
        """Return the number of tokens of each input by example id."""
        options = encoding_options(self.config, self.task, read_config(self.folder.best_model))
        source, vocabulary = self._source(base), self.folder.best_model
        rows = open_split(source, vocabulary, options, self.config.paths, self.console).dataset
        return dict(zip(map(str, row_field(rows, "id")), row_field(rows, "length").tolist(), strict=True))

    def is_right(self, example: Example, prediction: Any) -> bool:
        """Judge a prediction by the official measure of the task."""
        return self.answering.is_right(example, prediction, self.gold.get(example.id, ()))

    def _source(self, base: SplitSource) -> SplitSource:
        return self.task.source(base, training=False)


def robustness(run: JudgedRun, perturbations: Sequence[Perturbation]) -> Robustness:
    """Predict the split with each perturbation, and group its questions by length."""
    return Robustness(tuple(_sensitivity(run, perturbation) for perturbation in perturbations), tuple(_by_length(run)))


def is_same(answering: QuestionAnswering, before: Any, after: Any, arrangement: Arrangement) -> bool:
    """Compare a prediction with that on the perturbed table."""
    (cells, said), (moved, said_after) = answering.chosen(before), answering.chosen(after)
    return said == said_after and set(cells) == {arrangement.origin(cell) for cell in moved}


def _sensitivity(run: JudgedRun, perturbation: Perturbation) -> Sensitivity:
    source, tables = PerturbedSource(run.base, perturbation), arrangements(run.all_examples, perturbation)
    before, after = run.predictions, run.predict(source)
    asked = [example for example in run.examples.values() if tables[example.table.id].is_new]
    read = [example for example in asked if example.id in before and example.id in after]
    if not read:
        raise UserError(f"{perturbation.kind}: changes no table of this split; leave it out")
    lengths = run.lengths(source)
    same = [is_same(run.answering, before[e.id], after[e.id], tables[e.table.id]) for e in read]
    was_right = [run.is_right(e, before[e.id]) for e in read]
    now_right = [run.is_right(tables[e.table.id].applied(e), after[e.id]) for e in read]
    conversations = conversation_numbers(read)
    return Sensitivity(
        perturbation=perturbation,
        questions=len(asked),
        unread=len(asked) - len(read),
        tokens=int(np.median([lengths[e.id] for e in read])),
        changed=mean_interval([not kept for kept in same], conversations),
        before=mean_interval(was_right, conversations),
        after=mean_interval(now_right, conversations),
        gain=paired_bootstrap(now_right, was_right, conversations),
        changed_ids=tuple(e.id for e, kept in zip(read, same, strict=True) if not kept),
    )


def _by_length(run: JudgedRun) -> list[LengthBin]:
    """Group the questions that fit by length, up to each power of two."""
    lengths = run.lengths(run.base)
    read = [example for example in run.examples.values() if example.id in run.predictions]
    bins = np.array([1 << (lengths[example.id] - 1).bit_length() for example in read])
    right = np.array([run.is_right(example, run.predictions[example.id]) for example in read])
    conversations = conversation_numbers(read)
    chosen = [(int(tokens), bins == tokens) for tokens in np.unique(bins)]
    return [LengthBin(tokens, int(own.sum()), mean_interval(right[own], conversations[own])) for tokens, own in chosen]
