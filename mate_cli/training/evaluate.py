"""Score a trained run on a split, beside baselines that need no training (checklist 37, 38, 60)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from mate_cli.config import HardwareConfig, TrainConfig
from mate_cli.encoding.sentences import split_sentences
from mate_cli.encoding.source import BlankedSource, SplitSource
from mate_cli.metrics.baselines import expected_random_hits, tfidf_cell_ranking, tfidf_sentence_ranking
from mate_cli.tables.reading import question_id
from mate_cli.tables.table import Example
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.span_reading import SpanPrediction
from mate_cli.training.data import batch_loader
from mate_cli.training.devices import loader_workers
from mate_cli.training.predictor import Predictor
from mate_cli.training.run_folder import RunFolder
from mate_cli.training.splits import data_source, open_split
from mate_cli.training.tasks import task_of


@dataclass(frozen=True)
class CellEvaluation:
    """Predictions on a split, the questions they answer, and rankings that need no training.

    Attributes:
        baselines: name -> question id -> cells, best first; random_hits: k -> Hits@k of a random order.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, CellPrediction]
    baselines: dict[str, dict[str, list[tuple[int, int]]]]
    random_hits: dict[int, float]

    @classmethod
    def of(cls, examples: Sequence[Example], predictions: dict[str, Any]) -> CellEvaluation:
        baselines = {
            "TF-IDF cell": tfidf_cell_ranking(examples),
            "TF-IDF sentence": tfidf_sentence_ranking(examples, split_sentences),
        }
        return cls(tuple(examples), predictions, baselines, expected_random_hits(examples))


@dataclass(frozen=True)
class ReadingEvaluation:
    """What was read in the cells that hold the answer, each alone: the best that a selector could leave to the reader.

    Attributes:
        predictions: by the id of the reading example, one for each candidate cell.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, SpanPrediction]

    @classmethod
    def of(cls, examples: Sequence[Example], predictions: dict[str, Any]) -> ReadingEvaluation:
        return cls(tuple(examples), predictions)

    @property
    def answers(self) -> dict[str, str]:
        """Question id -> answer. Candidate cells count alike, so the joint score of cell and span is best where the
        span's probability in its cell is; a question without a candidate has no answer.
        """
        best: dict[str, SpanPrediction] = {}
        for prediction in self.predictions.values():
            question = question_id(prediction.id)
            if question not in best or prediction.probability > best[question].probability:
                best[question] = prediction
        return {question: prediction.text for question, prediction in best.items()}

    @property
    def cell_texts(self) -> dict[str, str]:
        """A baseline: question id -> the text of its first candidate cell, without what that links to."""
        first = {example.id: (example.table, example.candidates[0]) for example in self.examples if example.candidates}
        return {question: table.rows[row][column].text for question, (table, (row, column)) in first.items()}


Evaluation = CellEvaluation | ReadingEvaluation

_EVALUATIONS: dict[str, type[CellEvaluation] | type[ReadingEvaluation]] = {
    "cell_selection": CellEvaluation,
    "span_reading": ReadingEvaluation,
}


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
    base = data_source(config.task, split, data_dir or config.data_dir, config.paths)
    asked = BlankedSource(base) if blank_question else base
    predictions = predict_split(folder, config, hardware, task_of(config.task).source(asked, training=False), console)
    # The baselines read the questions in any case: they show what the model had to beat.
    examples = base.read().examples
    return _EVALUATIONS[config.task.kind].of(examples, predictions)


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
