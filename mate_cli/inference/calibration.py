"""The calibration of a model: from what it says about an answer to the probability that the answer is right.

``calibration.json`` beside the configuration of a run or an export has the map, the threshold and the measures of the
questions that they were fitted on. It belongs to the weights whose hash it names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mate_cli.metrics.calibration import answered, calibration_error, coverage_curve, log_loss, threshold_for
from mate_cli.metrics.confidence import CELL_MAPS, MAPS, Confidence, Map, read_map
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash, write_json
from mate_cli.tables.aggregation import NONE

REMEDY = "mate evaluate run=RUN calibrate=0.9"
_FOLDS = 5
_FEWEST = 50  # questions of a fit
_FEWEST_ANSWERS = 20  # above the threshold


class JudgedCell(NamedTuple):
    """A cell that a model chose with this probability, on a table, and whether it belongs to the answer."""

    probability: float
    right: bool
    table: str


@dataclass(frozen=True)
class Calibration:
    """A fitted map with what it was fitted on.

    Attributes:
        weights: hash of the weights (``content_hash``).
        accuracy: wanted share of right answers; threshold: least probability of an answer at which it is reached on
            the held-out questions; None if at none.
        measures: of the held-out questions (``fit_calibration``); in ``measured`` those of other questions, by name
            (``mate_cli.inference.trust``).
        cells: fitted map of the probability that a chosen cell belongs to the answer; None: too few cells are known.
    """

    weights: str
    map: Map
    accuracy: float
    threshold: float | None
    measures: dict[str, Any]
    cells: Map | None = None

    def cell_probabilities(self, plain: Sequence[float]) -> list[float]:
        """Return the probability that each chosen cell belongs to the answer, from the model's own."""
        if self.cells is None:
            return list(plain)
        return [float(sure) for sure in self.cells.probabilities(_of_cells(plain))]

    def probabilities(self, confidences: Sequence[Confidence]) -> NDArray[np.float64]:
        """Return the probability that each answer is right, ``[answers]``."""
        return self.map.probabilities(confidences)

    def measured(self, name: str, measures: Mapping[str, Any]) -> Calibration:
        """Return the same with the measures of other questions added, under their name."""
        others = {**self.measures.get("measured", {}), name: dict(measures)}
        return replace(self, measures={**self.measures, "measured": others})

    def write(self, file: Path) -> None:
        plain = {"weights": self.weights, "accuracy": self.accuracy, "threshold": self.threshold}
        cells = None if self.cells is None else self.cells.plain()
        write_json(file, {**plain, "map": self.map.plain(), "cells": cells, "measures": self.measures})


def read_calibration(file: Path) -> Calibration:
    """Read a file of ``Calibration.write``.

    Raises:
        UserError: it cannot be read, or is something else.
    """
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        threshold, accuracy = plain["threshold"], float(plain["accuracy"])
        if not (threshold is None or 0 <= float(threshold) <= 1):
            raise ValueError(f"threshold {threshold}")
        cells = None if plain.get("cells") is None else read_map(plain["cells"])
        measures = dict(plain["measures"])
        return Calibration(str(plain["weights"]), read_map(plain["map"]), accuracy, threshold, measures, cells)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(
            f"{file} is no calibration of mate ({reason}); remove it, or make it again: {REMEDY}"
        ) from error


def calibration_of(folder: RunFolder) -> tuple[Calibration | None, list[str]]:
    """Return the calibration of a run's model, if it has one, and a line if the file there is of other weights.

    Raises:
        UserError: as ``read_calibration``.
    """
    file = folder.calibration_file
    if not file.is_file():
        return None, []
    calibration = read_calibration(file)
    if calibration.weights == content_hash([folder.weights_file]):
        return calibration, []
    return None, [f"{file} is of other weights and is ignored; make it again: {REMEDY}"]


def carry_over(folder: RunFolder, to: Path) -> None:
    """Write the calibration of a run's model for the copy of its weights in the folder ``to``."""
    calibration, _ = calibration_of(folder)
    if calibration is not None:
        copy = RunFolder(to)
        replace(calibration, weights=content_hash([copy.weights_file])).write(copy.calibration_file)


def fit_calibration(
    folder: RunFolder,
    confidences: Sequence[Confidence],
    right: ArrayLike,
    tables: Sequence[str],
    accuracy: float,
    split: str,
    cells: Sequence[JudgedCell] = (),
) -> Calibration:
    """Fit every map, and keep the one with the least cross-validated log loss.

    The measures are those of probabilities from maps fitted without the table of the question: for each map and for
    no map ("none") its ``calibration_error`` and log loss; for the kept one the curve of coverage and accuracy, and
    what the threshold leaves.

    Args:
        right: bool ``[answers]``; tables: id of the table of each answer.
        accuracy: wanted share of right answers above the threshold; split: where the questions are from.
        cells: chosen cells of which it is known whether they belong to the answer; they get a map of their own.

    Raises:
        UserError: too few questions or tables, or too few right or wrong answers.
    """
    is_right = np.asarray(right, dtype=bool)
    best, sure, errors = _compared(MAPS, confidences, is_right, tables)
    threshold = threshold_for(sure, is_right, accuracy, _FEWEST_ANSWERS)
    measures = {
        "split": split,
        "seen": [],
        "questions": len(is_right),
        "tables": len(set(tables)),
        "right": float(is_right.mean()),
        "methods": errors,
        "curve": [asdict(point) for point in coverage_curve(sure, is_right)],
        "at_threshold": None if threshold is None else asdict(answered(sure, is_right, threshold)),
    }
    of_cells, measures["cells"] = _fit_cells(cells)
    fitted = best.fit(confidences, is_right)
    return Calibration(content_hash([folder.weights_file]), fitted, accuracy, threshold, measures, of_cells)


def _compared(
    maps: Sequence[type[Map]], confidences: Sequence[Confidence], right: NDArray[np.bool_], tables: Sequence[str]
) -> tuple[type[Map], NDArray[np.float64], dict[str, Any]]:
    """Return the map with the least cross-validated log loss, its probabilities, and the errors of all and of none."""
    folds = _folds(right, tables)
    plain = np.array([confidence.probability for confidence in confidences])
    by_method = {kind.method: _held_out(kind, confidences, right, folds) for kind in maps}
    errors = {
        name: {"calibration_error": calibration_error(sure, right), "log_loss": log_loss(sure, right)}
        for name, sure in {"none": plain, **by_method}.items()
    }
    best = min(maps, key=lambda kind: errors[kind.method]["log_loss"])
    return best, by_method[best.method], errors


def _fit_cells(cells: Sequence[JudgedCell]) -> tuple[Map | None, dict[str, Any] | None]:
    """Return the map of the cells and its measures; None for both where there are too few of them for a fit."""
    right = np.array([cell.right for cell in cells], dtype=bool)
    confidences, tables = _of_cells([cell.probability for cell in cells]), [cell.table for cell in cells]
    try:
        best, _, errors = _compared(CELL_MAPS, confidences, right, tables)
    except UserError:
        return None, None
    measures = {"cells": len(right), "right": float(right.mean()), "methods": errors}
    return best.fit(confidences, right), measures


def _of_cells(plain: Sequence[float]) -> list[Confidence]:
    return [Confidence(sure, 1, NONE.name, 1.0) for sure in plain]


def _folds(right: NDArray[np.bool_], tables: Sequence[str]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Split the questions by tables: the places to fit on and those to predict."""
    from sklearn.model_selection import GroupKFold  # slow to import

    folds = []
    if len(right) >= _FEWEST and len(set(tables)) >= _FOLDS:
        folds = list(GroupKFold(_FOLDS).split(right, groups=tables))
    if not folds or any(len(np.unique(right[fitted])) < 2 for fitted, _ in folds):
        raise UserError(
            f"calibrate needs answers to {_FEWEST} questions on {_FOLDS} tables, right and wrong ones; of the "
            f"{len(right)} answers on {len(set(tables))} tables here {right.sum()} are right: give more questions"
        )
    return folds


def _held_out(
    kind: type[Map],
    confidences: Sequence[Confidence],
    right: NDArray[np.bool_],
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> NDArray[np.float64]:
    sure = np.zeros(len(right))
    for fitted, predicted in folds:
        model = kind.fit([confidences[place] for place in fitted], right[fitted])
        sure[predicted] = model.probabilities([confidences[place] for place in predicted])
    return sure
