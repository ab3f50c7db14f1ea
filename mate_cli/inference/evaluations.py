"""Predictions on a split with what they are held against, one kind for each benchmark's way of scoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mate_cli.metrics.baselines import Unigram, expected_random_hits, tfidf_cell_ranking, tfidf_sentence_ranking
from mate_cli.metrics.denotation import answer_texts
from mate_cli.metrics.wtq import Value, gold_values
from mate_cli.tables.prediction_files import TAGGED, read_tagged
from mate_cli.tables.reading import question_id
from mate_cli.tables.table import Example
from mate_cli.tasks.cell_selection import CellPrediction
from mate_cli.tasks.entailment import Entailment
from mate_cli.tasks.masked_language import PiecePrediction
from mate_cli.tasks.span_reading import SpanPrediction
from mate_cli.tasks.table_qa import TableAnswer


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
            "TF-IDF sentence": tfidf_sentence_ranking(examples),
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


@dataclass(frozen=True)
class SequenceEvaluation:
    """Answers to the questions of conversations (SQA).

    Attributes:
        predictions: each question read with what was predicted for the one before it: the official setting;
            gold_history: with its right answer, as in training.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, TableAnswer]
    gold_history: dict[str, TableAnswer]


@dataclass(frozen=True)
class DenotationEvaluation:
    """Answers made of cells and an operator (WikiTableQuestions).

    Attributes:
        gold: question id -> the values of the right answer.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, TableAnswer]
    gold: dict[str, list[Value]]

    @classmethod
    def of(
        cls, examples: Sequence[Example], predictions: dict[str, TableAnswer], data_dir: Path
    ) -> DenotationEvaluation:
        """Take the canonical gold values from the release's tagged files, where ``data_dir`` has them."""
        tagged = read_tagged(data_dir / TAGGED)
        return cls(tuple(examples), predictions, gold_values(examples, tagged))

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """Question id -> the texts of the answer; of a question without a prediction there are none."""
        return {example.id: self._texts(example) for example in self.examples}

    def _texts(self, example: Example) -> tuple[str, ...]:
        own = self.predictions.get(example.id)
        return () if own is None else answer_texts(example.table, own.cells, own.aggregation)


@dataclass(frozen=True)
class EntailmentEvaluation:
    """Verdicts on statements (TabFact)."""

    examples: tuple[Example, ...]
    predictions: dict[str, Entailment]


@dataclass(frozen=True)
class PieceEvaluation:
    """What was predicted at the masked tokens of held-out tables, and how frequent pieces are in training.

    Attributes:
        predictions: by the number of the table.
    """

    predictions: dict[str, PiecePrediction]
    unigram: Unigram


Evaluation = (
    CellEvaluation
    | ReadingEvaluation
    | SequenceEvaluation
    | DenotationEvaluation
    | EntailmentEvaluation
    | PieceEvaluation
)
