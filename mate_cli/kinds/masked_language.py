"""Masked language modelling of tables and their texts: pre-training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mate_cli.config.task import ScheduleConfig, TaskConfig
from mate_cli.kinds.accuracy import accuracy_lead, accuracy_record, accuracy_summary, accuracy_table
from mate_cli.kinds.kind import AskedRun, HubCard, Report, TaskKind
from mate_cli.metrics.baselines import Unigram, perplexity
from mate_cli.models.masked_language import MateForMaskedLM
from mate_cli.tasks.masked_language import MaskedLanguage, PiecePrediction

_ALL = "masked tokens"
_GUESS = "most frequent piece"


@dataclass(frozen=True)
class PieceEvaluation:
    """Predictions for the masked tokens of held-out tables, and the frequencies of pieces in training.

    Attributes:
        predictions: by the number of the table.
    """

    predictions: dict[str, PiecePrediction]
    unigram: Unigram

    @classmethod
    def of(cls, run: AskedRun) -> PieceEvaluation:
        return cls(run.predict(), run.unigram())

    def report(self, label: str) -> Report:
        record = piece_record(self)
        if not record["questions"]:
            return Report(record)
        both = record["perplexity"]
        summary = (
            f"{accuracy_summary(record, [_ALL])}; perplexity {both['model']:.1f}, "
            f"by frequencies {both['frequencies']:.1f}"
        )
        table = accuracy_table(f"{label}: accuracy, per cent", {"model": record})
        return Report(record, table, summary, lead=accuracy_lead(record, [_ALL]))


def piece_record(evaluation: PieceEvaluation) -> dict[str, Any]:
    """Accuracy over all masked tokens, those of tables and those of texts; a table's tokens are drawn together.

    ``perplexity`` is of the model and of the frequencies of pieces in training.
    """
    examples = list(evaluation.predictions.values())
    target, best = (np.array([piece for p in examples for piece in getattr(p, name)]) for name in ("target", "best"))
    if not len(target):
        return {"questions": 0}
    in_table = np.array([inside for p in examples for inside in p.in_table], dtype=bool)
    table = np.repeat(np.arange(len(examples)), [len(p.target) for p in examples])
    parts = {_ALL: np.ones(len(target), dtype=bool), "in tables": in_table, "in texts": ~in_table}
    parts = {name: chosen for name, chosen in parts.items() if chosen.any()}
    guess = target == evaluation.unigram.most_frequent
    accuracies = accuracy_record(
        {name: (target == best)[chosen] for name, chosen in parts.items()},
        {_GUESS: {name: guess[chosen] for name, chosen in parts.items()}},
        {name: table[chosen] for name, chosen in parts.items()},
    )
    likelihood = np.array([value for p in examples for value in p.log_likelihood])
    perplexities = {
        "model": perplexity(likelihood),
        "frequencies": perplexity(evaluation.unigram.log_likelihood(target)),
    }
    return {"questions": len(target), "tables": len(examples), **accuracies, "perplexity": perplexities}


def _task(config: TaskConfig, schedule: ScheduleConfig) -> MaskedLanguage:
    return MaskedLanguage()


KIND = TaskKind(
    model=MateForMaskedLM,
    task=_task,
    evaluate=PieceEvaluation.of,
    card=HubCard(
        pipeline="fill-mask",
        does="It predicts masked words and cells from the rest of a table and from the text around it.",
        limit="It answers nothing by itself, and is of use as a start for other trainings.",
        tapas_class="TapasForMaskedLM",
    ),
    next_command="mate train task=hybridqa backbone=run backbone.path={run}",
    fixed_shape=True,
)
