"""What to keep and what to show of an evaluation, by its kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table as RichTable

from mate_cli.inference.evaluations import (
    CellEvaluation,
    DenotationEvaluation,
    EntailmentEvaluation,
    Evaluation,
    PieceEvaluation,
    ReadingEvaluation,
    SequenceEvaluation,
)
from mate_cli.metrics.wtq import gold_values
from mate_cli.reporting.accuracy import accuracy_summary, accuracy_table
from mate_cli.reporting.masked_language import piece_record, piece_summary, piece_table
from mate_cli.reporting.reading import reading_record, reading_summary, reading_table
from mate_cli.reporting.scores import score_record, score_summary, score_table
from mate_cli.reporting.table_tasks import (
    answer_cells_record,
    answer_texts_record,
    denotation_record,
    entailment_record,
    sequence_record,
)
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS, split_of
from mate_cli.tables.prediction_files import (
    TAGGED,
    read_sqa_predictions,
    read_tagged,
    read_wtq_predictions,
    sqa_predictions_text,
    wtq_predictions_text,
)

_CELLS, _CELL_MEASURES = "answer cells, per cent", ("ALL", "SEQ")
_DENOTATIONS = "denotation accuracy, per cent"


class Report(NamedTuple):
    """The scores as plain data, with ``questions`` 0 where the split is blind; else a table and a line of them.

    ``submission`` is the content of the benchmark's official prediction file, a TSV file; "" where it has none.
    """

    record: dict[str, Any]
    table: RichTable | None
    summary: str
    submission: str = ""


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
    cells = {name: answer.cells for name, answer in evaluation.predictions.items()}
    submission = sqa_predictions_text(evaluation.examples, cells)
    if not record["questions"]:
        return Report(record, None, "", submission)
    models = {"model, own history": record["own_history"], "model, gold history": record["gold_history"]}
    table = accuracy_table(f"{label}: {_CELLS}", models)
    return Report(record, table, accuracy_summary(record["own_history"], _CELL_MEASURES), submission)


@report_of.register
def _(evaluation: DenotationEvaluation, label: str) -> Report:
    report = _accuracy_report(denotation_record(evaluation), f"{label}: {_DENOTATIONS}", ["accuracy"])
    return report._replace(submission=wtq_predictions_text(evaluation.texts))


@report_of.register
def _(evaluation: EntailmentEvaluation, label: str) -> Report:
    return _accuracy_report(entailment_record(evaluation), f"{label}: accuracy, per cent", ["all"])


@report_of.register
def _(evaluation: PieceEvaluation, label: str) -> Report:
    record = piece_record(evaluation)
    if not record["questions"]:
        return Report(record, None, "")
    return Report(record, piece_table(f"{label}: accuracy, per cent", record), piece_summary(record))


def submission_report(predictions: Path, questions: Path) -> Report:
    """The scores of an official prediction file of SQA or WikiTableQuestions, ours or not.

    Args:
        questions: the file of the split's questions, where the release has it.

    Raises:
        UserError: a file is broken or not where a release has it, or an answer is missing or one too many.
    """
    data_format, folder, split = split_of(questions)
    if data_format not in ("sqa", "wtq"):
        raise UserError(f"reference={questions}: {data_format} has no prediction files in TSV; sqa and wtq have")
    examples = FORMATS[data_format].read_split(folder, split).examples
    if data_format == "sqa":
        record = answer_cells_record(examples, read_sqa_predictions(predictions, examples))
        return _accuracy_report(record, f"{split}: {_CELLS}", _CELL_MEASURES)
    gold = gold_values(examples, read_tagged(folder / TAGGED))
    texts = read_wtq_predictions(predictions, gold)
    return _accuracy_report(answer_texts_record(examples, gold, texts, texts), f"{split}: {_DENOTATIONS}", ["accuracy"])


def _accuracy_report(record: dict[str, Any], title: str, measures: Sequence[str]) -> Report:
    if not record["questions"]:
        return Report(record, None, "")
    return Report(record, accuracy_table(title, {"model": record}), accuracy_summary(record, measures))


def record_and_show(folder: RunFolder, label: str, evaluation: Evaluation, console: Console) -> None:
    """Keep predictions and scores in the run folder, and show the scores."""
    scores = report_of(evaluation, label)
    with folder.recording():
        folder.write_predictions(label, evaluation.predictions.values())
        folder.write_metrics(label, scores.record)
        if scores.submission:
            folder.write_submission(label, scores.submission)
    if not scores.record["questions"]:
        console.print(f"{label} is blind: predictions written, nothing to score")
        return
    console.print(scores.table)
    console.print(scores.summary, highlight=False)
