"""Reading of answers as spans of a cell and its passages: PointR's reader (HybridQA)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mate_cli.config.task import ScheduleConfig, TaskConfig
from mate_cli.kinds.accuracy import grouped_table, percent, share_text
from mate_cli.kinds.kind import HubCard, Report, TaskKind
from mate_cli.metrics.cell_selection import SUBSETS
from mate_cli.metrics.hybridqa import exact_match, f1
from mate_cli.metrics.statistics import mean_interval
from mate_cli.models.span_reading import MateForSpanReading
from mate_cli.tables.reading import TrainingCells, question_id
from mate_cli.tables.table import Example
from mate_cli.tasks.span_reading import SpanPrediction, SpanReading

Answers = Mapping[str, str]

MEASURES = {"EM": "exact", "F1": "f1"}


@dataclass(frozen=True)
class ReadingEvaluation:
    """Answers read in each cell that holds the answer, as behind a perfect selector.

    Attributes:
        predictions: by the id of the reading example, one for each candidate cell.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, SpanPrediction]

    @property
    def answers(self) -> dict[str, str]:
        """Question id -> answer, the span with the greatest probability in its cell.

        The candidate cells have equal probability. A question without a candidate has no answer.
        """
        best: dict[str, SpanPrediction] = {}
        for prediction in self.predictions.values():
            question = question_id(prediction.id)
            if question not in best or prediction.probability > best[question].probability:
                best[question] = prediction
        return {question: prediction.text for question, prediction in best.items()}

    @property
    def cell_texts(self) -> dict[str, str]:
        """A baseline: question id -> the text of its first candidate cell, without passages."""
        first = {example.id: (example.table, example.candidates[0]) for example in self.examples if example.candidates}
        return {question: table.rows[row][column].text for question, (table, (row, column)) in first.items()}

    def report(self, label: str) -> Report:
        record = reading_record(self.examples, self.answers, {"cell text": self.cell_texts})
        if not record["questions"]:
            return Report(record)
        title = f"{label}: answers read in the cells that hold them, per cent"
        (baseline, scores), *_ = record["baselines"].items()
        lead = (baseline, record["model"]["all"]["exact"] - scores["exact"])
        summary = (
            f"EM {share_text(record['exact_interval'])} with the cells given; {percent(record['readable'])}% of the "
            "questions have such a cell"
        )
        return Report(record, grouped_table(title, record, MEASURES), summary, lead=lead)


def reading_record(examples: Sequence[Example], answers: Answers, baselines: Mapping[str, Answers]) -> dict[str, Any]:
    """Scores of answers by question id, as plain data.

    The denominator is every question with an answer field; a missing answer counts as empty. ``readable`` is the share
    of questions with an answer, the limit for a perfect reader.
    """
    answered = [example for example in examples if example.answers is not None]
    if not answered:
        return {"questions": 0}
    return {
        "questions": len(answered),
        "readable": sum(bool(answers.get(example.id)) for example in answered) / len(answered),
        "model": {
            "all": _scores(answered, answers),
            "by_subset": _by_group(answered, answers, [SUBSETS.get(e.subset, "") for e in answered]),
            "by_reasoning": _by_group(answered, answers, [e.reasoning for e in answered]),
        },
        "exact_interval": asdict(mean_interval(_exact(answered, answers))),
        "baselines": {name: _scores(answered, texts) for name, texts in baselines.items()},
    }


def _by_group(examples: Sequence[Example], answers: Answers, groups: Sequence[str]) -> dict[str, Any]:
    return {
        name: _scores([e for e, group in zip(examples, groups, strict=True) if group == name], answers)
        for name in sorted(set(groups) - {""})
    }


def _scores(examples: Sequence[Example], answers: Answers) -> dict[str, Any]:
    overlap = [f1(answers.get(example.id, ""), example.answers or ()) for example in examples]
    exact = float(np.mean(_exact(examples, answers)))
    return {"questions": len(examples), "exact": exact, "f1": float(np.mean(overlap))}


def _exact(examples: Sequence[Example], answers: Answers) -> np.ndarray:
    return np.array([exact_match(answers.get(example.id, ""), example.answers or ()) for example in examples])


def _task(config: TaskConfig, schedule: ScheduleConfig) -> SpanReading:
    span = config.span
    cells = TrainingCells(span.traced, span.together, not config.ambiguous, span.noisy_cells)  # type: ignore[arg-type]
    return SpanReading(span.max_span, span.head, config.input, cells)  # type: ignore[arg-type]


KIND = TaskKind(
    model=MateForSpanReading,
    task=_task,
    evaluate=lambda run: ReadingEvaluation(run.examples, run.predict()),
    card=HubCard(
        pipeline="question-answering",
        does="It reads the answer to a question, a span of words, in one cell and the passages that the cell links to.",
        limit="It always finds a span, and is of use behind a selector that finds the cell.",
    ),
    next_command="mate evaluate selector=RUN reader={run}",
)
