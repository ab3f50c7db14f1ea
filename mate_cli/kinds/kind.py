"""The record of a kind of task. Every other place asks the record, and never which kind it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from mate_cli.config.task import ScheduleConfig, TaskConfig
from mate_cli.metrics.baselines import Unigram
from mate_cli.metrics.confidence import Confidence
from mate_cli.metrics.wtq import Value
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tables.table import Coordinate, Example, Table
from mate_cli.tasks.task import Prediction, Task

Right = Mapping[str, NDArray[np.bool_]]
"""Name of a measure -> the questions that are right, bool ``[questions]``; the measure of all questions comes first."""

Groups = Mapping[str, NDArray[np.int64]]
"""Name of a measure -> the group of each of its questions, int64 ``[questions]`` (see ``bootstrap``)."""


class AskedRun(Protocol):
    """A trained run together with the split that it is evaluated on (``mate_cli.inference.evaluate``)."""

    @property
    def examples(self) -> tuple[Example, ...]:
        """The questions as in their files; baselines read them whole, even if the model does not."""
        ...

    @property
    def data_dir(self) -> Path: ...

    @property
    def rows(self) -> str:
        """Which rows of large tables are read (``config.inference.ROWS``); chosen ones as ``mate predict`` does."""
        ...

    def predict(self) -> dict[str, Any]:
        """Return the predictions by example id; examples that do not fit have none."""
        ...

    def converse(self) -> dict[str, Any]:
        """``predict``, each question with the predicted answer to the one before."""
        ...

    def unigram(self) -> Unigram:
        """Count the masked pieces of the first examples of training (kinds that learn from a corpus)."""
        ...


class Report(NamedTuple):
    """Scores as plain data, with ``questions`` 0 for a blind split; for others also as a table and a line.

    Attributes:
        submission: content of the benchmark's official prediction file, a TSV file; "" where it has none.
        lead: the best baseline, and how far the score is above it, from -1 to 1; None where the split is blind.
    """

    record: dict[str, Any]
    table: RichTable | None = None
    summary: str = ""
    submission: str = ""
    lead: tuple[str, float] | None = None


class Evaluation(Protocol):
    """The predictions for a split, and those of baselines."""

    @property
    def predictions(self) -> Mapping[str, Prediction]: ...

    def report(self, label: str) -> Report:
        """Score the predictions for the split called ``label``."""
        ...


class Judgement(NamedTuple):
    """The official measures of a set of answers."""

    right: Right
    groups: Groups = MappingProxyType({})


@dataclass(frozen=True)
class QuestionAnswering:
    """The answer to one question on one table, and its official measure.

    Attributes:
        record: from ``(question, table, prediction, top)`` to what ``mate predict output=json`` prints.
        chosen: from a prediction to its cells and its operator or label.
        combined: from the predictions for parts of a table, in order, to that for all of it; None: it computes nothing.
        is_right: judge ``(example, prediction, gold values)`` by the official measure of the task.
        measures: judge ``(examples, records, gold values)``, where records are the lines of ``predictions-*.jsonl`` by
            question id; None: ``mate analyze`` cannot judge them, or knows them as ranked cells.
        confidence: from a prediction to what the model says about it; None: it cannot be calibrated.
        judged_cells: from ``(example, prediction)`` to the probability of each chosen cell and whether it belongs to
            the answer; empty where that is not known; None: its answers are not made of cells.
    """

    record: Callable[[str, Table, Any, int], dict[str, Any]]
    chosen: Callable[[Any], tuple[tuple[Coordinate, ...], str]]
    is_right: Callable[[Example, Any, Sequence[Value]], bool]
    measures: Callable[[Sequence[Example], Mapping[str, Any], Mapping[str, Sequence[Value]]], Judgement] | None = None
    confidence: Callable[[Any], Confidence] | None = None
    judged_cells: Callable[[Example, Any], list[tuple[float, bool]]] | None = None
    combined: Callable[[Sequence[Any]], Any] | None = None


@dataclass(frozen=True)
class HubCard:
    """The description of an exported model for the Hugging Face Hub and its libraries.

    Attributes:
        pipeline: the Hub's name of the task.
        does, limit: a sentence each: what the model predicts, and what it cannot.
        tapas_fields: the fields of ``config.json`` that make ``Traits.tapas_class`` predict as our head does.
    """

    pipeline: str
    does: str
    limit: str
    tapas_fields: Callable[[MateConfig], dict[str, Any]] = lambda config: {}


@dataclass(frozen=True)
class TaskKind:
    """Everything about one kind of task except its ``Traits`` (``mate_cli.config.kinds``).

    Attributes:
        model: class of the encoder with its head.
        task: make the objective: choice and encoding of examples, loss, predictions, verdicts.
        evaluate: predict a split and the baselines; the evaluation reports them.
        card: description for Hugging Face.
        next_command: command to suggest after a training; ``{run}`` stands for the run folder.
        answering: how it answers single questions; None: it does not (``Traits.asked``).
        pools: True if the head reads the pooled state (``MateConfig.pooling``).
    """

    model: type[MatePreTrainedModel]
    task: Callable[[TaskConfig, ScheduleConfig], Task]
    evaluate: Callable[[AskedRun], Evaluation]
    card: HubCard
    next_command: str = 'mate predict run={run} table=FILE.csv question="…"'
    answering: QuestionAnswering | None = None
    pools: Callable[[MateConfig], bool] = lambda config: False

    @property
    def name(self) -> str:
        """The value of ``task.kind``."""
        return self.model.kind
