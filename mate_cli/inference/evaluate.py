"""Predict a split with a trained run, and score it beside baselines that need no training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.inference import ALL_ROWS, CHOSEN_ROWS
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.masked_example import MaskingOptions
from mate_cli.encoding.masked_rows import HeldOut, MaskedStream, ShardedCorpus
from mate_cli.encoding.source import BlankedSource, DataSource, SplitSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.answerer import Answerer
from mate_cli.inference.predictor import Predictor
from mate_cli.kinds.kind import Evaluation
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.metrics.baselines import Unigram
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Coordinate, Example
from mate_cli.tasks.table_qa import TableAnswer
from mate_cli.training.corpus import masking_options, open_corpus
from mate_cli.training.splits import data_source, open_split

_COUNTED = 2000
"""Number of pre-training examples whose pieces are counted for the baseline."""


@dataclass(frozen=True)
class EvaluatedRun:
    """A trained run together with the split that it is evaluated on, as ``mate_cli.kinds.kind.AskedRun`` describes it.

    Attributes:
        data_folder: of the split or the corpus; None for a task that needs none.
        blank_question: remove the questions.
        part: what of the split is asked, or what is made of it; the split itself if not given.
        rows: which rows of tables beyond the tokens of the training are read, as in ``Answerer``.
    """

    folder: RunFolder
    config: TrainConfig
    hardware: HardwareConfig
    split: str
    data_folder: str | None
    blank_question: bool
    console: Console
    part: Callable[[DataSource], SplitSource] = lambda whole: whole
    rows: str = ALL_ROWS

    @cached_property
    def base(self) -> DataSource:
        """The split as its files have it."""
        return data_source(self.config.task, self.split, self.data_folder, self.config.paths)

    @property
    def asked(self) -> SplitSource:
        """The split as the run reads it."""
        source = BlankedSource(self._questions) if self.blank_question else self._questions
        return task_of(self.config).source(source, training=False)

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        return self._questions.read().examples

    @property
    def data_dir(self) -> Path:
        return self.base.data_dir

    def predict(self) -> dict[str, Any]:
        """Predict the questions of the split; after a pre-training, all held-out tables, by their number.

        Held-out tables are masked alike in every run.

        Raises:
            UserError: the data is missing, or the run has no such split.
        """
        if self.rows == CHOSEN_ROWS:
            return {prediction.id: prediction for prediction in self._by_chosen_rows(self.asked.read().examples)}
        if not self.config.task.traits.learns_from_corpus:
            return predict_split(self.folder, self.config, self.hardware, self.asked, self.console)
        if self.split != "dev" or self.blank_question:
            raise UserError(
                f"{self.folder.path}: a pre-training is scored on its held-out tables: split=dev, as they are"
            )
        predictions = self._predictor.predict_rows(HeldOut(*self._corpus))
        return {str(number): prediction for number, prediction in enumerate(predictions)}

    def converse(self) -> dict[str, TableAnswer]:
        """Predict all first questions of conversations, then all second ones with the answers to the first, and so on.

        This is SQA's official setting, "sequence" in the release (docs/notes.md, note 33). A question whose predecessor
        is missing or did not fit gets no previous answer.
        """
        answers: dict[str, TableAnswer] = {}
        cells: dict[tuple[str, int], tuple[Coordinate, ...]] = {}  # by conversation and position in it
        by_position = attrgetter("position")
        for _, questions in groupby(sorted(self.asked.read().examples, key=by_position), key=by_position):
            turns = [replace(e, previous=cells.get((e.conversation, e.position - 1), ())) for e in questions]
            place = {example.id: (example.conversation, example.position) for example in turns}
            for answer in self._by_chosen_rows(turns) if self.rows == CHOSEN_ROWS else self._by_all_rows(turns):
                assert isinstance(answer, TableAnswer)
                answers[answer.id], cells[place[answer.id]] = answer, answer.cells
        return answers

    def unigram(self) -> Unigram:
        learned = MaskedStream(*self._corpus, self.config.seed)
        targets = (learned[place]["target"] for place in range(min(len(learned), _COUNTED)))
        return Unigram.of(targets, self._predictor.model.config.vocab_size)

    def evaluation(self) -> Evaluation:
        """Predict every question with the run's best model, and with the baselines.

        Raises:
            UserError: the run has no model, the model does not match its configuration, or the data is missing.
        """
        return kind_of(self.config.task).evaluate(self)

    def _by_all_rows(self, examples: Sequence[Example]) -> list[Any]:
        predictor, tokenizer = self._predictor, CellTokenizer(self.folder.best_model)
        return predictor.predict_rows(rows_that_fit(examples, tokenizer, predictor.options))

    def _by_chosen_rows(self, examples: Sequence[Example]) -> list[Any]:
        with Progress(console=self.console, transient=True) as progress:
            predictions = self._answerer.predict_examples(examples)
            return list(progress.track(predictions, total=len(examples), description="questions"))

    @cached_property
    def _answerer(self) -> Answerer:
        return Answerer(self.folder, self.config, self.hardware, rows=self.rows)

    @cached_property
    def _questions(self) -> SplitSource:
        return self.part(self.base)

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self.folder, self.config, self.hardware)

    @cached_property
    def _corpus(self) -> tuple[ShardedCorpus, MaskingOptions]:
        task, vocabulary = self.config.task, self.folder.best_model
        corpus = open_corpus(task, self.data_folder, vocabulary, self.config.paths, self.console)
        return corpus, masking_options(task, self._predictor.options)


def evaluate_run(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, split: str, console: Console
) -> Evaluation:
    """Evaluate a run on a split of the data that it was trained on (``EvaluatedRun.evaluation``)."""
    return EvaluatedRun(folder, config, hardware, split, config.data_dir, False, console).evaluation()


def predict_split(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, source: SplitSource, console: Console
) -> dict[str, Any]:
    """Predict with a run's best model, by example id; examples that do not fit have no prediction.

    Args:
        source: the examples made by ``Task.source``.
    """
    predictor = Predictor(folder, config, hardware)
    rows = open_split(source, folder.best_model, predictor.options, config.paths, console)
    return {prediction.id: prediction for prediction in predictor.predict_rows(rows.dataset)}
