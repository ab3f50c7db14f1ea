"""Masked-token accuracy and perplexity beside those of the frequencies of pieces: numbers, a table, a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli.inference.evaluations import PieceEvaluation
from mate_cli.metrics.baselines import perplexity
from mate_cli.reporting.accuracy import accuracy_record, accuracy_summary, accuracy_table

_ALL = "masked tokens"
_GUESS = "most frequent piece"


def piece_record(evaluation: PieceEvaluation) -> dict[str, Any]:
    """Accuracy over masked tokens, those of tables and those of texts; the tokens of a table are drawn together.

    ``perplexity`` is that of the model and that of the frequencies of pieces in training.
    """
    own = list(evaluation.predictions.values())
    target, best = (np.array([piece for p in own for piece in getattr(p, name)]) for name in ("target", "best"))
    if not len(target):
        return {"questions": 0}
    in_table = np.array([inside for p in own for inside in p.in_table], dtype=bool)
    table = np.repeat(np.arange(len(own)), [len(p.target) for p in own])
    parts = {_ALL: np.ones(len(target), dtype=bool), "in tables": in_table, "in texts": ~in_table}
    parts = {name: chosen for name, chosen in parts.items() if chosen.any()}
    guess = target == evaluation.unigram.most_frequent
    accuracies = accuracy_record(
        {name: (target == best)[chosen] for name, chosen in parts.items()},
        {_GUESS: {name: guess[chosen] for name, chosen in parts.items()}},
        {name: table[chosen] for name, chosen in parts.items()},
    )
    likelihood = np.array([value for p in own for value in p.log_likelihood])
    perplexities = {
        "model": perplexity(likelihood),
        "frequencies": perplexity(evaluation.unigram.log_likelihood(target)),
    }
    return {"questions": len(target), "tables": len(own), **accuracies, "perplexity": perplexities}


def piece_table(title: str, record: Mapping[str, Any]) -> RichTable:
    return accuracy_table(title, {"model": record})


def piece_summary(record: Mapping[str, Any]) -> str:
    """One line: accuracy with its interval and lead, and both perplexities."""
    own = record["perplexity"]
    return f"{accuracy_summary(record, [_ALL])}; perplexity {own['model']:.1f}, by frequencies {own['frequencies']:.1f}"
