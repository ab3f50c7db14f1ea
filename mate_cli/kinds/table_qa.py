"""Questions answered by cells of one column and an operator on them (SQA, WikiTableQuestions)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from mate_cli.config.inference import CHOSEN_ROWS
from mate_cli.config.task import ScheduleConfig, TaskConfig
from mate_cli.kinds.accuracy import accuracy_record, accuracy_report, grouped_table
from mate_cli.kinds.asked_form import as_asked
from mate_cli.kinds.cell_selection import cell_records
from mate_cli.kinds.kind import AskedRun, HubCard, Judgement, QuestionAnswering, Report, Right, TaskKind
from mate_cli.metrics.baselines import SEQUENCE_RULES, answer_by_rule, answers_without_reading
from mate_cli.metrics.confidence import Confidence
from mate_cli.metrics.denotation import Denotation, answer_texts, execute, gold_denotation, same_denotation
from mate_cli.metrics.sqa import Answers, sequence_scores
from mate_cli.metrics.wtq import Value, denotes, gold_values, values_of, verdicts
from mate_cli.models.configuration import MateConfig
from mate_cli.models.table_qa import MateForTableQuestionAnswering
from mate_cli.tables.aggregation import NONE, OPERATORS, TAPAS_OPERATORS
from mate_cli.tables.computed import computed
from mate_cli.tables.prediction_files import TAGGED, read_tagged, sqa_predictions_text, wtq_predictions_text
from mate_cli.tables.table import Example, Table
from mate_cli.tasks.table_qa import TableAnswer, TableQA, combined
from mate_cli.tasks.weak_supervision import WeakSupervision

HISTORIES = {"model, own history": "own_history", "model, gold history": "gold_history"}
CELLS, CELL_MEASURES = "answer cells, per cent", ("ALL", "SEQ")
DENOTATIONS, DENOTATION_MEASURES = "denotation accuracy, per cent", ("accuracy",)


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

    def report(self, label: str) -> Report:
        submission = sqa_predictions_text(self.examples, _cells_of(self.predictions))
        return accuracy_report(self.record(), f"{label}: {CELLS}", CELL_MEASURES, submission, HISTORIES)

    def record(self) -> dict[str, Any]:
        """ALL, SEQ and accuracy by position, with each history; the official setting is ``own_history``."""
        record = answer_cells_record(self.examples, _cells_of(self.predictions))
        if not record["questions"]:
            return record
        told = answer_cells_record(self.examples, _cells_of(self.gold_history), gold_history=True)
        counts = {name: record.pop(name) for name in ("questions", "conversations")}
        return counts | {"own_history": record, "gold_history": {name: told[name] for name in record}}


@dataclass(frozen=True)
class DenotationEvaluation:
    """Answers made of cells and an operator (WikiTableQuestions, generated questions).

    A follow-up is read with the right cells of the question before it.

    Attributes:
        gold: question id -> the values of the right answer.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, TableAnswer]
    gold: dict[str, list[Value]]

    def report(self, label: str) -> Report:
        submission = wtq_predictions_text(self.texts)
        record, title = self.record(), f"{label}: {DENOTATIONS}"
        report = accuracy_report(record, title, DENOTATION_MEASURES, submission)
        return report._replace(table=_table_by_kind(record, title)) if record.get("by_kind") else report

    def record(self) -> dict[str, Any]:
        """``answer_texts_record`` of the cells and operators."""
        answers = {e.id: (e.table, self.predictions[e.id]) for e in self.examples if e.id in self.predictions}
        meant = {name: execute(table, answer.cells, answer.aggregation) for name, (table, answer) in answers.items()}
        return answer_texts_record(self.examples, self.gold, self.texts, meant)

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """Question id -> the texts of the answer, none without a prediction."""
        given = [(example, self.predictions.get(example.id)) for example in self.examples]
        return {e.id: answer_texts(e.table, a.cells, a.aggregation) if a is not None else () for e, a in given}


def evaluate(run: AskedRun) -> SequenceEvaluation | DenotationEvaluation:
    """Score by denotation, or by cells if the questions are SQA's conversations.

    Gold values come from the release's tagged files if the data folder has them. With chosen rows denotations are of
    answers as ``mate predict`` gives them, in the form that was asked for.
    """
    examples, predictions = run.examples, run.predict()
    if any(map(_answers_in_cells, examples)):
        return SequenceEvaluation(examples, run.converse(), gold_history=predictions)
    if run.rows == CHOSEN_ROWS:
        given = [(example, predictions[example.id]) for example in examples if example.id in predictions]
        predictions = {asked.id: as_asked(asked.question, asked.table, answer) for asked, answer in given}
    return DenotationEvaluation(examples, predictions, gold_values(examples, read_tagged(run.data_dir / TAGGED)))


def answer_cells_record(examples: Iterable[Example], cells: Answers, gold_history: bool = False) -> dict[str, Any]:
    """ALL, SEQ and accuracy by position of the chosen cells, and of baselines with the same history.

    Questions of a conversation are drawn together for the intervals.
    """
    asked = [example for example in examples if example.answers is not None]
    if not asked:
        return {"questions": 0}
    baselines = {}
    for name, rule in SEQUENCE_RULES.items():
        answers = answer_by_rule(asked, rule, gold_history)
        looks_back = answers != answer_by_rule(asked, rule, not gold_history)
        baselines[f"{name}, gold history" if gold_history and looks_back else name] = _cell_measures(asked, answers)
    conversation = sequence_scores(asked, cells).conversation
    return {
        "questions": len(asked),
        "conversations": len({example.conversation for example in asked}),
        **accuracy_record(_cell_measures(asked, cells), baselines, {"ALL": conversation}),
    }


def answer_texts_record(
    examples: Iterable[Example],
    gold: Mapping[str, Sequence[Value]],
    texts: Mapping[str, Iterable[str]],
    meant: Mapping[str, Denotation],
) -> dict[str, Any]:
    """The official accuracy, also for answers in cells, for computed ones and by kind, and the release's accuracy.

    Args:
        gold: question id -> the values of its answer; other questions are left out.
        texts, meant: question id -> the answer, as texts and as the denotation that the release compares.
    """
    asked = [example for example in examples if example.id in gold]
    if not asked:
        return {"questions": 0}
    rules = answers_without_reading(asked)
    baselines = {name: _right_denotations(asked, gold, answers, answers) for name, answers in rules.items()}
    right = _right_denotations(asked, gold, texts, meant)
    by_kind = {"by_kind": kinds} if (kinds := _by_kind(asked, right["accuracy"])) else {}
    return {"questions": len(asked), **accuracy_record(right, baselines), **by_kind}


def _table_by_kind(record: Mapping[str, Any], title: str) -> RichTable:
    accuracy = {name: scores["mean"] for name, scores in record["model"].items()}
    model = {"all": {**accuracy, "questions": record["questions"]}, "by_subset": {}, "by_reasoning": record["by_kind"]}
    return grouped_table(title, {"model": model, "baselines": record["baselines"]}, {"accuracy": "accuracy"})


def _cell_measures(examples: list[Example], cells: Answers) -> Right:
    scores = sequence_scores(examples, cells)
    by_position = {f"pos {place + 1}": right for place, right in scores.by_position.items()}
    return {"ALL": scores.questions, "SEQ": scores.sequences, **by_position}


def _right_denotations(
    examples: list[Example],
    gold: Mapping[str, Sequence[Value]],
    texts: Mapping[str, Iterable[str]],
    meant: Mapping[str, Denotation],
) -> Right:
    is_right = verdicts({example.id: gold[example.id] for example in examples}, texts)
    official = np.array([is_right[example.id] for example in examples])
    release = [same_denotation(meant.get(example.id, ()), gold_denotation(example)) for example in examples]
    in_cells = np.array([bool(e.candidates) and e.operator in (None, NONE.name) for e in examples])
    computed = ~in_cells & np.array([example.value is not None for example in examples])
    parts = {"in cells": official[in_cells], "computed": official[computed]}
    measures = {name: right for name, right in parts.items() if len(right)}
    return {"accuracy": official, **measures, "release": np.array(release)}


def _by_kind(examples: Sequence[Example], right: NDArray[np.bool_]) -> dict[str, Any]:
    """Questions and accuracy of each kind of question; empty if the data names no kinds."""
    kinds = np.array([example.reasoning for example in examples])
    is_kind = {name: kinds == name for name in sorted(filter(None, set(kinds.tolist())))}
    return {
        name: {"questions": int(chosen.sum()), "accuracy": float(right[chosen].mean())}
        for name, chosen in is_kind.items()
    }


def _answers_in_cells(example: Example) -> bool:
    """Return whether a question of a conversation has cells as its answer, and never an operator on them (SQA)."""
    return bool(example.conversation) and example.operator is None


def _cells_of(answers: Mapping[str, TableAnswer]) -> Answers:
    return {name: answer.cells for name, answer in answers.items()}


def _task(config: TaskConfig, schedule: ScheduleConfig) -> TableQA:
    qa = config.qa
    weak = WeakSupervision(qa.cell_select_pref, qa.huber_delta, qa.answer_loss_cutoff)
    temperature = schedule.temperature or qa.temperature
    operators = OPERATORS if qa.difference else TAPAS_OPERATORS
    supervision = weak if qa.aggregation else None
    return TableQA(temperature, qa.zero_head, qa.surest, schedule.contrast, supervision, len(operators))


def _answer(question: str, table: Table, prediction: TableAnswer, top: int) -> dict[str, Any]:
    """Return the chosen cells, the operator and its result as texts; ``answer`` is empty if no cell is chosen.

    ``formula`` shows how the answer was computed, None if it is the cells themselves; ``problem`` says why they are,
    where the operator computes. Scores take the prediction as it is, but for those of chosen rows (``evaluate``).
    """
    prediction = as_asked(question, table, prediction)
    result = computed(table, prediction.cells, prediction.aggregation)
    return {
        "question": question,
        "table": table.id,
        "answer": list(result.answer),
        "formula": result.formula,
        "problem": result.problem,
        "operator": prediction.aggregation,
        "operator_probability": round(prediction.aggregation_probability, 6),
        "cells": cell_records(table, prediction.cells, prediction.probabilities),
    }


def _confidence(prediction: TableAnswer) -> Confidence:
    least = min(prediction.probabilities, default=0.0)
    return Confidence(least, len(prediction.cells), prediction.aggregation, prediction.aggregation_probability)


def _judged_cells(example: Example, prediction: TableAnswer) -> list[tuple[float, bool]]:
    """The cells of answers are known where cells are the answer, or where the operator on them is known too."""
    if not example.candidates or (example.operator is None and prediction.aggregation != NONE.name):
        return []
    gold = set(example.candidates)
    return [(sure, cell in gold) for sure, cell in zip(prediction.probabilities, prediction.cells, strict=True)]


def _is_right(example: Example, prediction: TableAnswer, gold: Sequence[Value]) -> bool:
    if _answers_in_cells(example):
        return set(prediction.cells) == set(example.candidates)
    return denotes(values_of(answer_texts(example.table, prediction.cells, prediction.aggregation)), gold)


def _measures(
    examples: Sequence[Example], records: Mapping[str, Any], gold: Mapping[str, Sequence[Value]]
) -> Judgement:
    """SQA: ALL by question and SEQ by conversation; WikiTableQuestions: accuracy."""
    cells = {name: [(row, column) for row, column in record["cells"]] for name, record in records.items()}
    if any(map(_answers_in_cells, examples)):
        scores = sequence_scores(examples, cells)
        return Judgement({"ALL": scores.questions, "SEQ": scores.sequences}, {"ALL": scores.conversation})
    read = [example for example in examples if example.id in records]
    texts = {e.id: answer_texts(e.table, cells[e.id], records[e.id]["aggregation"]) for e in read}
    is_right = verdicts(gold, texts)
    return Judgement({"accuracy": np.array([is_right[example.id] for example in examples])})


def _tapas_fields(config: MateConfig) -> dict[str, Any]:
    fields: dict[str, Any] = {"select_one_column": True, "allow_empty_column_selection": False}
    if config.num_aggregation_labels:
        known = OPERATORS[: config.num_aggregation_labels]
        labels = {label: operator.name for label, operator in enumerate(known)}
        fields |= {"aggregation_labels": labels, "no_aggregation_label_index": OPERATORS.index(NONE)}
    return fields


KIND = TaskKind(
    model=MateForTableQuestionAnswering,
    task=_task,
    evaluate=evaluate,
    card=HubCard(
        pipeline="table-question-answering",
        does="It answers questions on a table by cells of one column and, where it learnt to, an operator on them.",
        limit="An answer that is not made of cells of one column is out of its reach.",
        tapas_fields=_tapas_fields,
    ),
    answering=QuestionAnswering(
        record=_answer,
        chosen=lambda prediction: (prediction.cells, prediction.aggregation),
        is_right=_is_right,
        measures=_measures,
        confidence=_confidence,
        judged_cells=_judged_cells,
        combined=combined,
    ),
    pools=lambda config: config.num_aggregation_labels > 0,
)
