"""Samples of wrong answers (paper section 7): of selectors and readers, and of models that answer from tables alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mate_cli.analysis.outcomes import CellOutcomes, Outcomes, TableOutcomes
from mate_cli.encoding.encode import encode
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.stages import Stage
from mate_cli.kinds.entailment import LABELS
from mate_cli.kinds.registry import task_of
from mate_cli.metrics.near_miss import Miss, classify
from mate_cli.models.configuration import read_config
from mate_cli.tables.reading import reading_example
from mate_cli.tables.table import Coordinate, Example
from mate_cli.training.splits import encoding_options

BLAMED = {
    "no_candidate": "no cell of the table has the answer in its text or passages",
    "selector_input": "no cell with the answer keeps it in the selector's input: its sentence was not chosen, or cut",
    "selector": "the selector chose another cell",
    "reader_input": "the right cell was chosen, but the reader's input lacks the answer: cut, or hidden by task.input",
    "reader": "the reader chose another span of the right cell",
}
"""Causes of a wrong answer, in the order in which they are checked; the last two need a reader."""

MISTAKES = {
    "unread": "the question did not fit",
    "verdict": "the verdict is wrong",
    "computed": "the answer's cells are not known: it is computed, or in no cell or several",
    "column": "no cell of the right column was chosen",
    "cells": "wrong cells of the right column, or too many, or too few",
    "operator": "the right cells, but a wrong operator, or texts that do not match",
}
"""Mistakes of SQA, WikiTableQuestions and TabFact, in the order in which they are checked."""


@dataclass(frozen=True)
class WrongAnswer:
    """
    Attributes:
        prediction: the answer; without a reader the text of the chosen cell.
        chosen: the cell of the prediction; None if the question could not be read.
        blamed: a key of ``BLAMED``.
        miss, f1: class of the near-miss and F1; None without a reader.
        cells: the ranked cells with their scores, best first.
    """

    example: Example
    prediction: str
    chosen: Coordinate | None
    blamed: str
    miss: Miss | None
    f1: float | None
    cells: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Errors:
    """A sample of the wrong answers, in the order of the data.

    Attributes:
        questions, wrong: number of questions and of wrong answers.
        read: whether a reader answered.
    """

    questions: int
    wrong: int
    read: bool
    sample: tuple[WrongAnswer, ...]


@dataclass(frozen=True)
class WrongTableAnswer:
    """
    Attributes:
        record: the prediction as written; None if there is none.
        prediction: the predicted values in words.
        cells: the chosen cells.
        mistake: a key of ``MISTAKES``.
    """

    example: Example
    record: Mapping[str, Any] | None
    prediction: tuple[str, ...]
    cells: tuple[Coordinate, ...]
    mistake: str


@dataclass(frozen=True)
class TableErrors:
    """A sample of the wrong answers; ``questions`` and ``wrong`` as in ``Errors``."""

    questions: int
    wrong: int
    sample: tuple[WrongTableAnswer, ...]


def sample_errors(outcomes: CellOutcomes, sample: int, seed: int) -> Errors:
    """Draw wrong answers and find the stage to blame for each; the same ones for the same seed."""
    wrong, drawn = _draw(outcomes, sample, seed)
    blamed = _blame(outcomes, drawn)
    answers = tuple(_wrong_answer(outcomes, example, blamed[example.id]) for example in drawn)
    return Errors(len(outcomes.examples), wrong, outcomes.reader is not None, answers)


def sample_table_errors(outcomes: TableOutcomes, sample: int, seed: int) -> TableErrors:
    """Draw wrong answers and find the mistake of each; the same ones for the same seed."""
    wrong, drawn = _draw(outcomes, sample, seed)
    return TableErrors(len(outcomes.examples), wrong, tuple(_wrong_table_answer(outcomes, e) for e in drawn))


def _draw(outcomes: Outcomes, sample: int, seed: int) -> tuple[int, list[Example]]:
    """Return the number of questions with a wrong answer by the first measure, and a random sample in data order."""
    right = next(iter(outcomes.measures().values()))
    wrong = [example for example, value in zip(outcomes.examples, right, strict=True) if not value]
    order = np.random.default_rng(seed).permutation(len(wrong))[:sample]
    return len(wrong), [wrong[number] for number in sorted(order)]


def _wrong_answer(outcomes: CellOutcomes, example: Example, blamed: str) -> WrongAnswer:
    record, chosen = outcomes.records[example.id], outcomes.chosen(example)
    if outcomes.reader is None:
        text = "" if chosen is None else example.table.rows[chosen[0]][chosen[1]].text
        return WrongAnswer(example, text, chosen, blamed, None, None, record["cells"])
    prediction, f1 = str(record["prediction"]), float(record["f1"])
    miss = classify(prediction, example.answers or (), f1)
    return WrongAnswer(example, prediction, chosen, blamed, miss, f1, record["cells"])


def _blame(outcomes: CellOutcomes, examples: Sequence[Example]) -> dict[str, str]:
    """Return a key of ``BLAMED`` for each question id."""
    chosen = {example.id: outcomes.chosen(example) for example in examples}
    blamed = {example.id: "no_candidate" for example in examples if not example.candidates}
    misplaced = [e for e in examples if e.id not in blamed and chosen[e.id] not in e.candidates]
    for example, kept in zip(misplaced, _keeps_answer(outcomes.selector, misplaced), strict=True):
        blamed[example.id] = "selector" if kept else "selector_input"
    # The reader was given what the selector may see of the chosen cell.
    sees = outcomes.selector.config.task.input if outcomes.selector else "both"
    rest = [example for example in examples if example.id not in blamed]
    read = [reading_example(example, chosen[example.id], sees) for example in rest]  # type: ignore[arg-type]
    for example, kept in zip(rest, _keeps_answer(outcomes.reader, read), strict=True):
        blamed[example.id] = "reader" if kept else "reader_input"
    return blamed


def _keeps_answer(stage: Stage | None, examples: Sequence[Example]) -> list[bool]:
    """Say whether a stage's input of an example keeps the answer in a candidate cell; True without a stage."""
    if stage is None or not examples:
        return [True] * len(examples)
    options = encoding_options(stage.config, task_of(stage.config), read_config(stage.folder.best_model))
    encoded = encode(examples, CellTokenizer(stage.folder.best_model), options)
    return [features.answer_in_input for features in encoded]


def _wrong_table_answer(outcomes: TableOutcomes, example: Example) -> WrongTableAnswer:
    record, cells = outcomes.records.get(example.id), tuple(outcomes.cells(example))
    prediction = outcomes.answer(example)
    if example.label is not None:
        prediction = () if record is None else (LABELS[record["label"]],)
    return WrongTableAnswer(example, record, prediction, cells, _mistake(example, record, cells))


def _mistake(example: Example, record: Mapping[str, Any] | None, cells: tuple[Coordinate, ...]) -> str:
    if record is None:
        return "unread"
    if example.label is not None:
        return "verdict"
    if not example.candidates:
        return "computed"
    if not {column for _, column in cells} & {column for _, column in example.candidates}:
        return "column"
    return "operator" if set(cells) == set(example.candidates) else "cells"
