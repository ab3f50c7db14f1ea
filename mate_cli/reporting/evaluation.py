"""What to keep and what to show of an evaluation, by its kind."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

from rich.table import Table as RichTable

from mate_cli.reporting.accuracy import accuracy_summary, accuracy_table
from mate_cli.reporting.reading import reading_record, reading_summary, reading_table
from mate_cli.reporting.scores import score_record, score_summary, score_table
from mate_cli.reporting.table_tasks import denotation_record, entailment_record, sequence_record
from mate_cli.training.evaluations import (
    CellEvaluation,
    DenotationEvaluation,
    EntailmentEvaluation,
    Evaluation,
    ReadingEvaluation,
    SequenceEvaluation,
)


class Report(NamedTuple):
    """The scores as plain data, with ``questions`` 0 where the split is blind; else a table and a line of them."""

    record: dict[str, Any]
    table: RichTable | None
    summary: str


@singledispatch
def report_of(evaluation: Evaluation, label: str) -> Report:
    """The scores of an evaluation of the split called ``label``."""
    raise TypeError(type(evaluation))


@report_of.register
def _(evaluation: CellEvaluation, label: str) -> Report:
    rankings = {example_id: prediction.cells for example_id, prediction in evaluation.predictions.items()}
    record = score_record(evaluation.examples, rankings, evaluation.baselines, evaluation.random_hits)
    if not record["questions"]:
        return Report(record, None, "")
    return Report(record, score_table(f"{label}: Hits@k, per cent", record), score_summary(record))


@report_of.register
def _(evaluation: ReadingEvaluation, label: str) -> Report:
    record = reading_record(evaluation.examples, evaluation.answers, {"cell text": evaluation.cell_texts})
    if not record["questions"]:
        return Report(record, None, "")
    title = f"{label}: answers read in the cells that hold them, per cent"
    return Report(record, reading_table(title, record), reading_summary(record))


@report_of.register
def _(evaluation: SequenceEvaluation, label: str) -> Report:
    record = sequence_record(evaluation)
    if not record["questions"]:
        return Report(record, None, "")
    models = {"model, own history": record["own_history"], "model, gold history": record["gold_history"]}
    table = accuracy_table(f"{label}: answer cells, per cent", models)
    return Report(record, table, accuracy_summary(record["own_history"], ["ALL", "SEQ"]))


@report_of.register
def _(evaluation: DenotationEvaluation, label: str) -> Report:
    record = denotation_record(evaluation)
    return _accuracy_report(record, f"{label}: denotation accuracy, per cent", "accuracy")


@report_of.register
def _(evaluation: EntailmentEvaluation, label: str) -> Report:
    return _accuracy_report(entailment_record(evaluation), f"{label}: accuracy, per cent", "all")


def _accuracy_report(record: dict[str, Any], title: str, measure: str) -> Report:
    if not record["questions"]:
        return Report(record, None, "")
    return Report(record, accuracy_table(title, {"model": record}), accuracy_summary(record, [measure]))
