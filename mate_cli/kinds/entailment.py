"""Statements that a table entails or refutes (TabFact)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mate_cli.config.task import ScheduleConfig, TaskConfig
from mate_cli.kinds.accuracy import accuracy_record, accuracy_report
from mate_cli.kinds.kind import AskedRun, HubCard, Judgement, QuestionAnswering, Report, TaskKind
from mate_cli.metrics.tabfact import right_by_group
from mate_cli.metrics.wtq import Value
from mate_cli.models.configuration import MateConfig
from mate_cli.models.entailment import MateForSequenceClassification
from mate_cli.tables.table import Coordinate, Example, Table
from mate_cli.tasks.entailment import Entailment, EntailmentTask

LABELS = ("refuted", "entailed")


@dataclass(frozen=True)
class EntailmentEvaluation:
    """Verdicts on the statements of a split."""

    examples: tuple[Example, ...]
    predictions: dict[str, Entailment]

    @classmethod
    def of(cls, run: AskedRun) -> EntailmentEvaluation:
        return cls(run.examples, run.predict())

    def report(self, label: str) -> Report:
        return accuracy_report(self.record(), f"{label}: accuracy, per cent", ["all"])

    def record(self) -> dict[str, Any]:
        """Accuracy on all statements and on the official groups; the baselines give every statement one verdict."""
        examples = [example for example in self.examples if example.label is not None]
        if not examples:
            return {"questions": 0}
        verdicts = {name: prediction.label for name, prediction in self.predictions.items()}
        baselines = {
            f"{word}, always": right_by_group(examples, {example.id: label for example in examples})
            for label, word in reversed(list(enumerate(LABELS)))
        }
        return {"questions": len(examples), **accuracy_record(right_by_group(examples, verdicts), baselines)}


def _task(config: TaskConfig, schedule: ScheduleConfig) -> EntailmentTask:
    return EntailmentTask(mentions=schedule.mentions)


def _answer(statement: str, table: Table, prediction: Entailment, top: int) -> dict[str, Any]:
    return {
        "question": statement,
        "table": table.id,
        "answer": LABELS[prediction.label],
        "probability": round(prediction.probability, 6),
        "cells": [],
    }


def _chosen(prediction: Entailment) -> tuple[tuple[Coordinate, ...], str]:
    return (), str(prediction.label)


def _is_right(example: Example, prediction: Entailment, gold: Sequence[Value]) -> bool:
    return prediction.label == example.label


def _measures(
    examples: Sequence[Example], records: Mapping[str, Any], gold: Mapping[str, Sequence[Value]]
) -> Judgement:
    return Judgement(right_by_group(examples, {name: int(record["label"]) for name, record in records.items()}))


def _tapas_fields(config: MateConfig) -> dict[str, Any]:
    names = dict(enumerate(LABELS))
    return {"id2label": names, "label2id": {name: label for label, name in names.items()}}


KIND = TaskKind(
    model=MateForSequenceClassification,
    task=_task,
    evaluate=EntailmentEvaluation.of,
    card=HubCard(
        pipeline="text-classification",
        does="It says whether a table entails a statement (label 1) or refutes it (label 0).",
        limit="It has no label for a statement that the table says nothing about.",
        tapas_class="TapasForSequenceClassification",
        tapas_fields=_tapas_fields,
    ),
    answering=QuestionAnswering(_answer, _chosen, _is_right, _measures),
    fixed_shape=True,
    pools=lambda config: True,
)
