"""The scores of SQA's, WikiTableQuestions' and TabFact's evaluations as plain data: accuracies beside simple rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mate_cli.inference.evaluations import DenotationEvaluation, EntailmentEvaluation, SequenceEvaluation
from mate_cli.metrics.baselines import SEQUENCE_RULES, answer_by_rule, answers_without_reading
from mate_cli.metrics.denotation import Denotation, execute, gold_denotation, same_denotation
from mate_cli.metrics.sqa import Answers, sequence_scores
from mate_cli.metrics.tabfact import right_by_group
from mate_cli.metrics.wtq import Value, verdicts
from mate_cli.reporting.accuracy import Right, accuracy_record
from mate_cli.tables.table import Example


def sequence_record(evaluation: SequenceEvaluation) -> dict[str, Any]:
    """ALL, SEQ and accuracy by position, with each history; ``own_history`` is the official figure."""
    own = {name: answer.cells for name, answer in evaluation.predictions.items()}
    gold = {name: answer.cells for name, answer in evaluation.gold_history.items()}
    record = answer_cells_record(evaluation.examples, own)
    if not record["questions"]:
        return record
    told = answer_cells_record(evaluation.examples, gold, gold_history=True)
    counts = {name: record.pop(name) for name in ("questions", "conversations")}
    return counts | {"own_history": record, "gold_history": {name: told[name] for name in record}}


def answer_cells_record(examples: Iterable[Example], cells: Answers, gold_history: bool = False) -> dict[str, Any]:
    """ALL, SEQ and accuracy by position of the chosen cells, beside rules with the same history.

    Questions of a conversation are drawn together for the intervals.
    """
    asked = [example for example in examples if example.answers is not None]
    if not asked:
        return {"questions": 0}
    baselines = {}
    for name, rule in SEQUENCE_RULES.items():
        own = answer_by_rule(asked, rule, gold_history)
        looks_back = own != answer_by_rule(asked, rule, not gold_history)
        baselines[f"{name}, gold history" if gold_history and looks_back else name] = _measures(asked, own)
    conversation = sequence_scores(asked, cells).conversation
    return {
        "questions": len(asked),
        "conversations": len({example.conversation for example in asked}),
        **accuracy_record(_measures(asked, cells), baselines, {"ALL": conversation}),
    }


def denotation_record(evaluation: DenotationEvaluation) -> dict[str, Any]:
    """``answer_texts_record`` of a model's cells and operators."""
    read = [example for example in evaluation.examples if example.id in evaluation.predictions]
    answers = [(example, evaluation.predictions[example.id]) for example in read]
    meant = {example.id: execute(example.table, own.cells, own.aggregation) for example, own in answers}
    return answer_texts_record(evaluation.examples, evaluation.gold, evaluation.texts, meant)


def answer_texts_record(
    examples: Iterable[Example],
    gold: Mapping[str, Sequence[Value]],
    texts: Mapping[str, Iterable[str]],
    meant: Mapping[str, Denotation],
) -> dict[str, Any]:
    """The official accuracy, the same of answers that are cells and of those that are computed, and the release's.

    Args:
        gold: question id -> the values of its answer; a question that is not there is left out.
        texts, meant: question id -> what is answered, in words and as the release compares it.
    """
    asked = [example for example in examples if example.id in gold]
    if not asked:
        return {"questions": 0}
    rules = answers_without_reading(asked)
    baselines = {name: _right_denotations(asked, gold, own, own) for name, own in rules.items()}
    return {"questions": len(asked), **accuracy_record(_right_denotations(asked, gold, texts, meant), baselines)}


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


def _measures(examples: list[Example], cells: Answers) -> Right:
    scores = sequence_scores(examples, cells)
    by_position = {f"pos {place + 1}": right for place, right in scores.by_position.items()}
    return {"ALL": scores.questions, "SEQ": scores.sequences, **by_position}


def _right_denotations(
    examples: list[Example],
    gold: Mapping[str, Sequence[Value]],
    texts: Mapping[str, Iterable[str]],
    meant: Mapping[str, Denotation],
) -> Right:
    found = verdicts({example.id: gold[example.id] for example in examples}, texts)
    official = np.array([found[example.id] for example in examples])
    release = [same_denotation(meant.get(example.id, ()), gold_denotation(example)) for example in examples]
    in_cells = np.array([bool(example.candidates) for example in examples])
    computed = ~in_cells & np.array([example.value is not None for example in examples])
    parts = {"in cells": official[in_cells], "computed": official[computed]}
    measures = {name: right for name, right in parts.items() if len(right)}
    return {"accuracy": official, **measures, "release": np.array(release)}
