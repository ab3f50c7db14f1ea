"""Judge a run's answers with what it said about them: fit its calibration, and measure it on other questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.source import AnswerlessSource, DataSource, PartSource, SplitSource
from mate_cli.inference.calibration import REMEDY, Calibration, JudgedCell, calibration_of, fit_calibration
from mate_cli.inference.evaluate import EvaluatedRun
from mate_cli.kinds.registry import kind_of
from mate_cli.metrics.calibration import answered, calibration_error
from mate_cli.metrics.confidence import Confidence
from mate_cli.metrics.sqa import conversation_numbers
from mate_cli.metrics.statistics import mean_interval
from mate_cli.metrics.wtq import gold_values
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.prediction_files import TAGGED, read_tagged

Measures = dict[str, Any]


@dataclass(frozen=True)
class JudgedAnswers:
    """The answers of a run to questions whose answer is known.

    Attributes:
        right: bool ``[answers]``, by the official measure of the task; tables: id of the table of each.
        conversations: see ``conversation_numbers``.
        cells: their cells, where it is known whether they belong to the answer.
    """

    confidences: list[Confidence]
    right: NDArray[np.bool_]
    tables: list[str]
    conversations: NDArray[np.int64]
    cells: list[JudgedCell]


def has_confidence(run: EvaluatedRun) -> bool:
    """Return whether the answers of a run's kind of task come with what a calibration needs."""
    answering = kind_of(run.config.task).answering
    return answering is not None and answering.confidence is not None


def check_confidence(run: EvaluatedRun, key: str) -> None:
    """
    Raises:
        UserError: the answers of the run cannot be calibrated; the message names the ``key`` that asks for it.
    """
    if not has_confidence(run):
        raise UserError(
            f"{key}: the answers of task={run.config.task.name} cannot be calibrated; those of sqa, wtq, queries, "
            "own_qa and tabfact can"
        )


def judged(run: EvaluatedRun, predictions: Mapping[str, Any]) -> JudgedAnswers:
    """Judge the predictions of a run, by question id; questions without a known answer are left out."""
    answering = kind_of(run.config.task).answering
    assert answering is not None
    assert answering.confidence is not None
    asked = [e for e in run.examples if e.id in predictions and (e.answers is not None or e.label is not None)]
    gold = gold_values([e for e in asked if e.answers is not None], read_tagged(run.data_dir / TAGGED))
    right = [answering.is_right(e, predictions[e.id], gold.get(e.id, ())) for e in asked]
    confidences = [answering.confidence(predictions[e.id]) for e in asked]
    cells = [
        JudgedCell(sure, is_right, e.table.id)
        for e in asked
        if answering.judged_cells is not None
        for sure, is_right in answering.judged_cells(e, predictions[e.id])
    ]
    tables, conversations = [e.table.id for e in asked], conversation_numbers(asked)
    return JudgedAnswers(confidences, np.array(right, dtype=bool), tables, conversations, cells)


def held_out_tables(folder: RunFolder, trained: TrainConfig, whole: DataSource) -> SplitSource:
    """Return the tables of ``train`` that the training of a run left out; any other split as it is.

    Raises:
        UserError: the training left none out.
    """
    if whole.split != "train":
        return whole
    share = active_schedule(trained).held_out
    if not share:
        raise UserError(f"{folder.path}: no table of train was kept out of its training; set split=dev")
    return PartSource(whole, share, held_out=True)


def calibrated(
    run: EvaluatedRun, split: str, predictions: Mapping[str, Any], accuracy: float, seen: Sequence[str] = ()
) -> Calibration:
    """Fit the calibration of a run on these predictions, and write it to the run's folder.

    Args:
        split: where the questions are from, with the mark of other data (``runs.other_data``).
        seen: names of other data whose training tables were left out, for the record.

    Raises:
        UserError: as ``fit_calibration``.
    """
    answers = judged(run, predictions)
    calibration = fit_calibration(
        run.folder, answers.confidences, answers.right, answers.tables, accuracy, split, answers.cells
    )
    calibration = replace(calibration, measures={**calibration.measures, "seen": list(seen)})
    calibration.write(run.folder.calibration_file)
    return calibration


def measured(run: EvaluatedRun, label: str, predictions: Mapping[str, Any], calibration: Calibration) -> Measures:
    """Measure a calibration on predictions for other questions than those of its fit, and note it in its file.

    The note goes by the label of the evaluation, as its scores do.

    The measures are ``calibration_error`` without and with the calibration and, with the threshold, the share of
    questions with an answer (``coverage``) and the share of these that are right, with its 95% interval; questions of a
    conversation are drawn together.
    """
    answers = judged(run, predictions)
    if not len(answers.right):
        return {}
    plain = [confidence.probability for confidence in answers.confidences]
    sure = calibration.probabilities(answers.confidences)
    measures: Measures = {
        "questions": len(plain),
        "error_before": calibration_error(plain, answers.right),
        "error": calibration_error(sure, answers.right),
    }
    if calibration.threshold is not None:
        point = answered(sure, answers.right, calibration.threshold)
        given = sure >= calibration.threshold
        share = mean_interval(answers.right[given], answers.conversations[given]) if given.any() else None
        measures |= {"coverage": point.coverage, "accuracy": None if share is None else asdict(share)}
    calibration.measured(label, measures).write(run.folder.calibration_file)
    return measures


def unanswered(run: EvaluatedRun, label: str) -> Measures:
    """Ask each question that cells answer about its table with and without the rows of the answer.

    The measures go to the calibration's file, by the label of the evaluation.

    Returns:
        the number of ``questions``, and the share of them that gets no answer at the threshold: with the rows
        (``whole``) and without (``removed``), with 95% intervals as of ``measured``, and without them by kind of
        question where the data names kinds.

    Raises:
        UserError: the run has no calibration with a threshold, or no question has an answer in cells.
    """
    calibration, _ = calibration_of(run.folder)
    if calibration is None or calibration.threshold is None:
        raise UserError(f"unanswerable: {run.folder.path} has no threshold; {REMEDY} fits one, or a lower accuracy")
    whole, removed = (_below(run, calibration, calibration.threshold, is_removed) for is_removed in (False, True))
    names, examples = sorted(whole.keys() & removed.keys()), {example.id: example for example in run.examples}
    conversations = conversation_numbers(examples[name] for name in names)
    by_kind = {
        kind: float(np.mean([removed[name] for name in names if examples[name].reasoning == kind]))
        for kind in sorted({examples[name].reasoning for name in names} - {""})
    }
    measures = {
        "questions": len(names),
        "whole": asdict(mean_interval([whole[name] for name in names], conversations)),
        "removed": asdict(mean_interval([removed[name] for name in names], conversations)),
        "by_kind": by_kind,
    }
    calibration.measured(f"{label} without answers", measures).write(run.folder.calibration_file)
    return measures


def _below(run: EvaluatedRun, calibration: Calibration, threshold: float, removed: bool) -> dict[str, bool]:
    """Return whether the answer to each question is below the threshold."""
    answering = kind_of(run.config.task).answering
    assert answering is not None
    assert answering.confidence is not None
    asked = replace(run, part=lambda whole: AnswerlessSource(run.part(whole), removed))
    predictions = asked.predict()
    sure = calibration.probabilities([answering.confidence(answer) for answer in predictions.values()])
    return dict(zip(predictions, (sure < threshold).tolist(), strict=True))
