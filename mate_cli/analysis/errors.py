"""Wrong answers: a sample of them, how near each is, and which stage is to blame (checklist 106, 107)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mate_cli.analysis.outcomes import CellOutcomes, Outcomes
from mate_cli.config.task import active_schedule
from mate_cli.encoding.encode import encode
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.stages import Stage
from mate_cli.metrics.near_miss import Miss, classify
from mate_cli.models.config_file import read_config
from mate_cli.tables.reading import reading_example
from mate_cli.tables.table import Coordinate, Example
from mate_cli.training.splits import encoding_options

BLAMED = {
    "no_candidate": "no cell of the table holds the answer, in its text or a passage",
    "selector_input": "no cell with the answer keeps it in the selector's input: not among the sentences, or cut",
    "selector": "another cell was chosen",
    "reader_input": "the right cell was chosen, but what was read of it lacks the answer: cut, or not to be seen",
    "reader": "another span of the right cell was chosen",
}
"""What can be to blame, in the order in which it is looked for; the last two only where there is a reader."""


@dataclass(frozen=True)
class WrongAnswer:
    """
    Attributes:
        prediction: the answer, of a selector alone the text of its cell; miss and f1: None of a selector alone.
        chosen: the cell it is from, None where the question could not be read; blamed: a key of ``BLAMED``.
        cells: the cells that were looked at, best first, with their scores.
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
        questions, wrong: how many were asked, and how many of them answered wrongly.
        read: whether a reader answered; else a selector alone is looked at.
    """

    questions: int
    wrong: int
    read: bool
    sample: tuple[WrongAnswer, ...]


def sample_errors(outcomes: CellOutcomes, sample: int, seed: int) -> Errors:
    """Draw wrong answers, class and blame them; the same ones for the same seed."""
    wrong = wrong_examples(outcomes)
    drawn = draw(wrong, sample, seed)
    blamed = _blame(outcomes, drawn)
    answers = tuple(_wrong_answer(outcomes, example, blamed[example.id]) for example in drawn)
    return Errors(len(outcomes.examples), len(wrong), outcomes.reader is not None, answers)


def wrong_examples(outcomes: Outcomes) -> list[Example]:
    """The questions that are answered wrongly by the first measure, in the order of the data."""
    right = next(iter(outcomes.measures().values()))
    return [example for example, value in zip(outcomes.examples, right, strict=True) if not value]


def draw(examples: Sequence[Example], sample: int, seed: int) -> list[Example]:
    """So many of them at random, in their order; the same ones for the same seed."""
    order = np.random.default_rng(seed).permutation(len(examples))[:sample]
    return [examples[number] for number in sorted(order)]


def _wrong_answer(outcomes: CellOutcomes, example: Example, blamed: str) -> WrongAnswer:
    record, chosen = outcomes.records[example.id], outcomes.chosen(example)
    if outcomes.reader is None:
        text = "" if chosen is None else example.table.rows[chosen[0]][chosen[1]].text
        return WrongAnswer(example, text, chosen, blamed, None, None, record["cells"])
    prediction, f1 = str(record["prediction"]), float(record["f1"])
    miss = classify(prediction, example.answers or (), f1)
    return WrongAnswer(example, prediction, chosen, blamed, miss, f1, record["cells"])


def _blame(outcomes: CellOutcomes, examples: Sequence[Example]) -> dict[str, str]:
    """A key of ``BLAMED`` for each question id."""
    chosen = {example.id: outcomes.chosen(example) for example in examples}
    blamed = {example.id: "no_candidate" for example in examples if not example.candidates}
    elsewhere = [e for e in examples if e.id not in blamed and chosen[e.id] not in e.candidates]
    for example, kept in zip(elsewhere, _keeps_answer(outcomes.selector, elsewhere), strict=True):
        blamed[example.id] = "selector" if kept else "selector_input"
    found = [example for example in examples if example.id not in blamed]
    read = _read_cells(outcomes, found, chosen)
    for example, kept in zip(found, _keeps_answer(outcomes.reader, read), strict=True):
        blamed[example.id] = "reader" if kept else "reader_input"
    return blamed


def _read_cells(outcomes: CellOutcomes, examples: Sequence[Example], chosen: dict[str, Any]) -> list[Example]:
    """What the reader was given of the chosen cells: what the selector may see of them."""
    sees = outcomes.selector.config.task.input if outcomes.selector else "both"
    return [reading_example(example, chosen[example.id], sees) for example in examples]  # type: ignore[arg-type]


def _keeps_answer(stage: Stage | None, examples: Sequence[Example]) -> list[bool]:
    """Whether the tokens that a stage reads of an example keep the answer in a candidate cell; yes without a stage."""
    if stage is None or not examples:
        return [True] * len(examples)
    model, task = read_config(stage.folder.best_model), stage.config.task
    options = encoding_options(task, active_schedule(stage.config), model)
    encoded = encode(examples, CellTokenizer(stage.folder.best_model), options)
    return [own.answer_in_input for own in encoded]
