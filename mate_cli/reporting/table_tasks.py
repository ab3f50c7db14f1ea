"""The scores of SQA's, WikiTableQuestions' and TabFact's evaluations as plain data: accuracies beside simple rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mate_cli.metrics.denotation import Denotation, answer_texts, execute, gold_denotation, same_denotation
from mate_cli.metrics.sqa import Answers, sequence_scores
from mate_cli.metrics.tabfact import right_by_group
from mate_cli.metrics.table_rules import SEQUENCE_RULES, answer_by_rule, answers_without_reading
from mate_cli.metrics.wtq import verdicts
from mate_cli.reporting.accuracy import Right, accuracy_record
from mate_cli.tables.table import Example
from mate_cli.tasks.table_qa import TableAnswer
from mate_cli.training.evaluations import DenotationEvaluation, EntailmentEvaluation, SequenceEvaluation


def sequence_record(evaluation: SequenceEvaluation) -> dict[str, Any]:
    """ALL, SEQ and accuracy by position, with each history; ``own_history`` is the official figure.

    Each is held against rules with that history. Questions of a conversation are drawn together for the intervals.
    """
    examples = [example for example in evaluation.examples if example.answers is not None]
    if not examples:
        return {"questions": 0}
    own = {name: answer_by_rule(examples, rule, gold_history=False) for name, rule in SEQUENCE_RULES.items()}
    with_gold = {name: answer_by_rule(examples, rule, gold_history=True) for name, rule in SEQUENCE_RULES.items()}
    gold = {name if cells == own[name] else f"{name}, gold history": cells for name, cells in with_gold.items()}
    return {
        "questions": len(examples),
        "conversations": len({example.conversation for example in examples}),
        "own_history": _sequence_accuracies(examples, evaluation.predictions, own),
        "gold_history": _sequence_accuracies(examples, evaluation.gold_history, gold),
    }


def denotation_record(evaluation: DenotationEvaluation) -> dict[str, Any]:
    """The official accuracy, the same of answers that are cells and of those that are computed, and the release's."""
    examples = [example for example in evaluation.examples if example.id in evaluation.gold]
    if not examples:
        return {"questions": 0}
    found = [
        (example, evaluation.predictions[example.id]) for example in examples if example.id in evaluation.predictions
    ]
    texts = {example.id: answer_texts(example.table, own.cells, own.aggregation) for example, own in found}
    meant = {example.id: execute(example.table, own.cells, own.aggregation) for example, own in found}
    rules = answers_without_reading(examples)
    return {
        "questions": len(examples),
        **accuracy_record(
            _right_denotations(examples, evaluation, texts, meant),
            {name: _right_denotations(examples, evaluation, own, own) for name, own in rules.items()},
        ),
    }


def entailment_record(evaluation: EntailmentEvaluation) -> dict[str, Any]:
    """Accuracy on all statements and on the official groups, beside the same verdict on all of them."""
    examples = [example for example in evaluation.examples if example.label is not None]
    if not examples:
        return {"questions": 0}
    labels = {name: own.label for name, own in evaluation.predictions.items()}
    constant = {"entailed, always": 1, "refuted, always": 0}
    baselines = {
        name: right_by_group(examples, {example.id: label for example in examples}) for name, label in constant.items()
    }
    return {"questions": len(examples), **accuracy_record(right_by_group(examples, labels), baselines)}


def _sequence_accuracies(
    examples: list[Example], predictions: Mapping[str, TableAnswer], rules: Mapping[str, Answers]
) -> dict[str, Any]:
    cells = {name: own.cells for name, own in predictions.items()}
    model = sequence_scores(examples, cells)
    baselines = {name: _measures(examples, own) for name, own in rules.items()}
    return accuracy_record(_measures(examples, cells), baselines, {"ALL": model.conversation})


def _measures(examples: list[Example], cells: Answers) -> Right:
    scores = sequence_scores(examples, cells)
    by_position = {f"position {place + 1}": right for place, right in scores.by_position.items()}
    return {"ALL": scores.questions, "SEQ": scores.sequences, **by_position}


def _right_denotations(
    examples: list[Example],
    evaluation: DenotationEvaluation,
    texts: Mapping[str, Iterable[str]],
    meant: Mapping[str, Denotation],
) -> Right:
    found = verdicts({example.id: evaluation.gold[example.id] for example in examples}, texts)
    official = np.array([found[example.id] for example in examples])
    release = [same_denotation(meant.get(example.id, ()), gold_denotation(example)) for example in examples]
    in_cells = np.array([bool(example.candidates) for example in examples])
    computed = ~in_cells & np.array([example.value is not None for example in examples])
    parts = {"in cells": official[in_cells], "computed": official[computed]}
    measures = {name: right for name, right in parts.items() if len(right)}
    return {"accuracy": official, **measures, "release": np.array(release)}
