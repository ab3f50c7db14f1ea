"""Keep and show the scores of an evaluation, or of an official prediction file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from mate_cli.kinds.accuracy import accuracy_report
from mate_cli.kinds.kind import Evaluation, Report
from mate_cli.kinds.table_qa import (
    CELL_MEASURES,
    CELLS,
    DENOTATION_MEASURES,
    DENOTATIONS,
    answer_cells_record,
    answer_texts_record,
)
from mate_cli.metrics.wtq import gold_values
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS, split_of
from mate_cli.tables.prediction_files import TAGGED, read_sqa_predictions, read_tagged, read_wtq_predictions


def submission_report(predictions: Path, questions: Path) -> Report:
    """Score an official prediction file of SQA or WikiTableQuestions.

    Args:
        questions: the file of the split's questions, inside the release.

    Raises:
        UserError: a file is broken or outside a release, or the answers do not match the questions.
    """
    data_format, folder, split = split_of(questions)
    if data_format not in ("sqa", "wtq"):
        raise UserError(f"reference={questions}: {data_format} has no prediction files in TSV; sqa and wtq have")
    examples = FORMATS[data_format].read_split(folder, split).examples
    if data_format == "sqa":
        record = answer_cells_record(examples, read_sqa_predictions(predictions, examples))
        return accuracy_report(record, f"{split}: {CELLS}", CELL_MEASURES)
    gold = gold_values(examples, read_tagged(folder / TAGGED))
    texts = read_wtq_predictions(predictions, gold)
    return accuracy_report(
        answer_texts_record(examples, gold, texts, texts), f"{split}: {DENOTATIONS}", DENOTATION_MEASURES
    )


def record_and_show(folder: RunFolder, label: str, evaluation: Evaluation, console: Console) -> Report:
    """Write predictions and scores to the run folder, print the scores, and return them."""
    scores = evaluation.report(label)
    with folder.recording():
        folder.write_predictions(label, evaluation.predictions.values())
        folder.write_metrics(label, scores.record)
        if scores.submission:
            folder.write_submission(label, scores.submission)
    if not scores.record["questions"]:
        console.print(f"{label} is blind: predictions written, nothing to score")
        return scores
    console.print(scores.table)
    console.print(scores.summary, highlight=False)
    return scores
