"""Wrong answers of SQA, WikiTableQuestions and TabFact: a sample of them, and what is wrong with each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mate_cli.analysis.errors import draw, wrong_examples
from mate_cli.analysis.outcomes import TableOutcomes
from mate_cli.tables.table import Coordinate, Example

MISTAKES = {
    "unread": "the question did not fit",
    "verdict": "the other verdict was given",
    "computed": "the answer is not known to be cells: it is computed, or stands in none or in several places",
    "column": "no cell of the right column was chosen",
    "cells": "other cells of the right column were chosen, or too many, or too few",
    "operator": "the cells of the answer were chosen, and counted or reckoned with, or their texts are no match",
}
"""What can be wrong, in the order in which it is looked for."""


@dataclass(frozen=True)
class WrongTableAnswer:
    """
    Attributes:
        record: the prediction, None where there is none; prediction: in words, one for each value.
        cells: the chosen ones; mistake: a key of ``MISTAKES``.
    """

    example: Example
    record: Mapping[str, Any] | None
    prediction: tuple[str, ...]
    cells: tuple[Coordinate, ...]
    mistake: str


@dataclass(frozen=True)
class TableErrors:
    """``questions`` were asked, ``wrong`` of them answered wrongly; ``sample``: of those, in the order of the data."""

    questions: int
    wrong: int
    sample: tuple[WrongTableAnswer, ...]


def sample_table_errors(outcomes: TableOutcomes, sample: int, seed: int) -> TableErrors:
    """Draw wrong answers and say what is wrong; the same ones for the same seed."""
    wrong = wrong_examples(outcomes)
    answers = tuple(_wrong_answer(outcomes, example) for example in draw(wrong, sample, seed))
    return TableErrors(len(outcomes.examples), len(wrong), answers)


def _wrong_answer(outcomes: TableOutcomes, example: Example) -> WrongTableAnswer:
    record, cells = outcomes.records.get(example.id), tuple(outcomes.cells(example))
    prediction = outcomes.answer(example)
    if example.label is not None:
        prediction = () if record is None else (("refuted", "entailed")[record["label"]],)
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
