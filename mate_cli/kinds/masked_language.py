"""Masked language modelling of tables and their texts: pre-training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mate_cli.kinds.accuracy import accuracy_record, accuracy_report
from mate_cli.kinds.kind import HubCard, Report, TaskKind
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

    def report(self, label: str) -> Report:
        record = piece_record(self)
        report = accuracy_report(record, f"{label}: accuracy, per cent", [_ALL])
        if not record["questions"]:
            return report
        both = "perplexity {model:.1f}, by frequencies {frequencies:.1f}".format(**record["perplexity"])
        return report._replace(summary=f"{report.summary}; {both}")


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


KIND = TaskKind(
    model=MateForMaskedLM,
    task=lambda config, schedule: MaskedLanguage(),
    evaluate=lambda run: PieceEvaluation(run.predict(), run.unigram()),
    card=HubCard(
        pipeline="fill-mask",
        does="It predicts masked words and cells from the rest of a table and from the text around it.",
        limit="It answers nothing by itself, and is of use as a start for other trainings.",
    ),
    next_command="mate train task=hybridqa backbone=run backbone.path={run}",
)
