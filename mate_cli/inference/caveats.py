"""Reasons to doubt an answer or to give none: how sure the model is, what it was trained on, what it cannot compute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mate_cli.config.train import TrainConfig
from mate_cli.runs.folder import RunFolder

_LIKELY = 0.5
"""By the model, a cell, span or operator below this probability is more likely wrong than right."""

_LIKELY_VERDICT = 0.6
"""The same for one of two labels, whose probability is never below a half."""

_COMPUTED = re.compile(
    r"\b(how many|number of|count|sum|total|in all|altogether|average|difference|how much more|percentage)\b", re.I
)
_BEYOND = r"percentage|per ?cent|proportion|ratio|median|variance|standard deviation|(?:in|for|by) each"
_BEYOND_FOUR = re.compile(rf"\b(difference|how (?:many|much) more|{_BEYOND})\b", re.I)
_BEYOND_FIVE = re.compile(rf"\b({_BEYOND})\b", re.I)

_YES_OR_NO = re.compile(r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b(?!.*\bor\b)", re.I)
_YES_AND_NO = {"yes", "no", "y", "n", "true", "false", "x", "\u2713", "\u2714", "\u2717"}


def caveats(trained: TrainConfig, record: Mapping[str, Any]) -> list[str]:
    """A line for each reason to doubt the answer of a record (``mate_cli.reporting.answer``).

    Args:
        trained: the configuration of the run that answered; of two stages, the reader's.
    """
    if "unanswered" in record:
        return []
    doubts = []
    if trained.task.format == "sample":
        doubts.append(
            "this model was trained on the generated sample and knows only that; "
            "mate train task=own data_dir=FOLDER trains on your questions"
        )
    if unread := record.get("unread"):
        doubts.append(unread)
    probability = answer_probability(record)
    if probability is not None and probability < (_LIKELY_VERDICT if "probability" in record else _LIKELY):
        doubts.append(f"low probability ({probability:.2f}): the answer may well be wrong")
    if problem := record.get("problem"):
        doubts.append(f"{problem}; the answer is its cells")
    more = (_computation_doubt(trained, record), _yes_or_no_doubt(record))
    return [*doubts, *(doubt for doubt in more if doubt is not None)]


def unfinished(folder: RunFolder) -> list[str]:
    """A line if a run was not trained to the end. Exports and published models, which have no status, were."""
    status = folder.status()
    if status.get("state", "done") in ("done", "trained"):
        return []
    reached = f", step {status['step']} of {status['steps']}" if {"step", "steps"} <= status.keys() else ""
    return [
        f"{folder.path} was not trained to the end ({folder.state}{reached}); its mate train command with "
        "resume=true goes on"
    ]


def unanswered(question: str, table: str | None, reason: str) -> dict[str, Any]:
    """The record of a question of a file that could not be asked.

    Args:
        table: its id; None: none was found.
    """
    return {"question": question, "answer": None, "unanswered": reason, "table": table, "cells": []}


def answer_probability(record: Mapping[str, Any]) -> float | None:
    """Of the answer: calibrated, or of its cell and span, of its least likely cell and operator, or of its label.

    0 where an operator has no cell, as in ``Confidence``; None where nothing was chosen from.
    """
    if "unanswered" in record:
        return None
    if "answer_probability" in record:
        return float(record["answer_probability"])
    if "probability" in record:
        return float(record["probability"])
    if "operator" in record:
        least = min((cell["probability"] for cell in record["cells"]), default=0.0)
        return min(record["operator_probability"], least)
    chosen = record.get("chosen", 0)
    if chosen is None:
        return None
    best = record["cells"][chosen]
    return float(best["probability"] * best.get("span_probability", 1.0))


def withheld(record: Mapping[str, Any], threshold: float | None) -> dict[str, Any]:
    """Return a record without its answer if that has a probability below ``threshold``; None: no threshold.

    The answer then is empty, ``best_guess`` has what it was, and ``answer_probability`` how probable that is.
    """
    probability = answer_probability(record)
    if threshold is None or probability is None:
        return dict(record)
    told = {**record, "threshold": threshold, "answer_probability": probability}
    if probability >= threshold:
        return told
    return {**told, "answer": type(record["answer"])(), "best_guess": record["answer"]}


def _yes_or_no_doubt(record: Mapping[str, Any]) -> str | None:
    """A line if a model that answers with cells was asked a question of yes or no, and they say neither."""
    if "operator" not in record or not _YES_OR_NO.match(record["question"]):
        return None
    if record["cells"] and all(cell.get("text", "").strip().lower() in _YES_AND_NO for cell in record["cells"]):
        return None
    return 'this model answers with cells, not with yes or no; judge it as a statement: statement="..."'


def _computation_doubt(trained: TrainConfig, record: Mapping[str, Any]) -> str | None:
    if "probability" in record:  # a statement is judged, whatever it counts
        return None
    computes = "operator" in record and trained.task.qa.aggregation
    subtracts = computes and trained.task.qa.difference
    beyond = _BEYOND_FIVE if subtracts else _BEYOND_FOUR
    match = (beyond if computes else _COMPUTED).search(record["question"])
    if match is None or any(match.group().lower() in cell.get("header", "").lower() for cell in record["cells"]):
        return None  # a column may be called so
    if computes:
        able = "counts, sums, averages and subtracts" if subtracts else "counts, sums and averages"
        return f"'{match.group()}': this model {able} cells; it computes nothing else"
    return (
        f"'{match.group()}': this model points to cells and computes nothing; "
        "a run of task=wtq or task=own_qa counts, sums and averages"
    )
