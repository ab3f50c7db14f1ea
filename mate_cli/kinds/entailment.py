"""Statements that a table entails or refutes (TabFact)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mate_cli.kinds.accuracy import accuracy_record, accuracy_report
from mate_cli.kinds.kind import HubCard, Judgement, QuestionAnswering, Report, TaskKind
from mate_cli.metrics.confidence import Confidence
from mate_cli.metrics.tabfact import right_by_group
from mate_cli.metrics.wtq import Value
from mate_cli.models.entailment import MateForSequenceClassification
from mate_cli.tables.table import Example, Table
from mate_cli.tasks.entailment import Entailment, EntailmentTask

LABELS = ("refuted", "entailed")


@dataclass(frozen=True)
class EntailmentEvaluation:
    """Verdicts on the statements of a split."""

    examples: tuple[Example, ...]
    predictions: dict[str, Entailment]

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


def _answer(statement: str, table: Table, prediction: Entailment, top: int) -> dict[str, Any]:
    return {
        "question": statement,
        "table": table.id,
        "answer": LABELS[prediction.label],
        "probability": round(prediction.probability, 6),
        "cells": [],
    }


def _measures(
    examples: Sequence[Example], records: Mapping[str, Any], gold: Mapping[str, Sequence[Value]]
) -> Judgement:
    return Judgement(right_by_group(examples, {name: int(record["label"]) for name, record in records.items()}))


KIND = TaskKind(
    model=MateForSequenceClassification,
    task=lambda config, schedule: EntailmentTask(mentions=schedule.mentions),
    evaluate=lambda run: EntailmentEvaluation(run.examples, run.predict()),
    card=HubCard(
        pipeline="text-classification",
        does="It says whether a table entails a statement (label 1) or refutes it (label 0).",
        limit="It has no label for a statement that the table says nothing about.",
        tapas_fields=lambda config: {
            "id2label": dict(enumerate(LABELS)),
            "label2id": {name: label for label, name in enumerate(LABELS)},
        },
    ),
    next_command='mate predict run={run} table=FILE.csv statement="…"',
    answering=QuestionAnswering(
        record=_answer,
        chosen=lambda prediction: ((), str(prediction.label)),
        is_right=lambda example, prediction, gold: prediction.label == example.label,
        measures=_measures,
        confidence=lambda prediction: Confidence(prediction.probability, 1, LABELS[prediction.label], 1.0),
    ),
    pools=lambda config: True,
)
