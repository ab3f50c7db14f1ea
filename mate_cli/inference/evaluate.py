"""Score a trained run on a split, beside baselines that need no training (checklist 37, 38, 60)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.masked_rows import HeldOut, MaskedStream
from mate_cli.encoding.source import BlankedSource, DataSource, SplitSource
from mate_cli.inference.conversations import predict_conversations
from mate_cli.inference.evaluations import (
    CellEvaluation,
    DenotationEvaluation,
    EntailmentEvaluation,
    Evaluation,
    PieceEvaluation,
    ReadingEvaluation,
    SequenceEvaluation,
)
from mate_cli.inference.predictor import Predictor
from mate_cli.metrics.baselines import Unigram
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example
from mate_cli.tasks.masked_language import PiecePrediction
from mate_cli.training.corpus import masking_options, open_corpus
from mate_cli.training.data import batch_loader
from mate_cli.training.devices import loader_workers
from mate_cli.training.splits import data_source, open_split
from mate_cli.training.tasks import task_of

_COUNTED = 2000
"""Examples of a pre-training whose pieces are counted for its baseline."""


@dataclass(frozen=True)
class AskedRun:
    """A trained run, and what of a split it is asked.

    Attributes:
        data_dir: of the split; blank_question: whether its questions are taken away.
    """

    folder: RunFolder
    config: TrainConfig
    hardware: HardwareConfig
    split: str
    data_dir: str | None
    blank_question: bool
    console: Console

    @property
    def base(self) -> DataSource:
        """The split as its files are."""
        return data_source(self.config.task, self.split, self.data_dir, self.config.paths)

    @property
    def asked(self) -> SplitSource:
        """The split as the run reads it."""
        source = BlankedSource(self.base) if self.blank_question else self.base
        return task_of(self.config.task).source(source, training=False)

    @property
    def examples(self) -> tuple[Example, ...]:
        """The questions as their files have them: baselines read what may be kept from the model."""
        return self.base.read().examples

    def predict(self) -> dict[str, Any]:
        return predict_split(self.folder, self.config, self.hardware, self.asked, self.console)


def evaluate_run(
    folder: RunFolder,
    config: TrainConfig,
    hardware: HardwareConfig,
    split: str,
    console: Console,
    data_dir: str | None = None,
    blank_question: bool = False,
) -> Evaluation:
    """Predict every question of a split with a run's best model, and with the baselines.

    Raises:
        UserError: the run has no model, it is another one than its configuration says, or the data is not there.
    """
    data_dir = data_dir or config.data_dir
    return _EVALUATIONS[config.task.kind](AskedRun(folder, config, hardware, split, data_dir, blank_question, console))


def predict_split(
    folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, source: SplitSource, console: Console
) -> dict[str, Any]:
    """What a run's best model predicts, by example id; examples that do not fit have no prediction.

    Args:
        source: the examples as the task has them (``Task.source``).
    """
    predictor = Predictor(folder, config, hardware)
    rows = open_split(source, folder.best_model, predictor.options, config.paths, console)
    loader = batch_loader(
        rows.dataset, predictor.collator, loader_workers(hardware), batch_size=predictor.hardware.micro_batch
    )
    return {prediction.id: prediction for prediction in predictor.predict(loader)}


def _cells(run: AskedRun) -> Evaluation:
    return CellEvaluation.of(run.examples, run.predict())


def _spans(run: AskedRun) -> Evaluation:
    return ReadingEvaluation.of(run.examples, run.predict())


def _table_answers(run: AskedRun) -> Evaluation:
    """By denotation, but where questions are parts of conversations by their cells."""
    examples, predictions = run.examples, run.predict()
    if not any(example.conversation for example in examples):
        return DenotationEvaluation.of(examples, predictions, run.base.data_dir)
    own = predict_conversations(run.folder, run.config, run.hardware, run.asked)
    return SequenceEvaluation(examples, own, gold_history=predictions)


def _labels(run: AskedRun) -> Evaluation:
    return EntailmentEvaluation(run.examples, run.predict())


def _pieces(run: AskedRun) -> Evaluation:
    """Of held-out tables, whatever the run validated on, each masked in the same way in every run."""
    if run.split != "dev" or run.blank_question:
        raise UserError(f"{run.folder.path}: a pre-training is scored on its held-out tables: split=dev, as they are")
    predictor = Predictor(run.folder, run.config, run.hardware)
    vocabulary, masking = run.folder.best_model, masking_options(run.config.task, predictor.options)
    corpus = open_corpus(run.config.task, run.data_dir, vocabulary, run.config.paths, run.console)
    workers, size = loader_workers(run.hardware), predictor.hardware.micro_batch
    predictions = predictor.predict(
        batch_loader(HeldOut(corpus, masking), predictor.collator, workers, batch_size=size)
    )
    learned = MaskedStream(corpus, masking, run.config.seed)
    targets = (learned[place]["target"] for place in range(min(len(learned), _COUNTED)))
    unigram = Unigram.of(targets, predictor.module.model.config.vocab_size)
    by_table = {str(number): own for number, own in enumerate(predictions) if isinstance(own, PiecePrediction)}
    return PieceEvaluation(by_table, unigram)


_EVALUATIONS: dict[str, Callable[[AskedRun], Evaluation]] = {
    "cell_selection": _cells,
    "span_reading": _spans,
    "table_qa": _table_answers,
    "entailment": _labels,
    "masked_language": _pieces,
}
