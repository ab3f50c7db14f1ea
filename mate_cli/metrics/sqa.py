"""Accuracy of SQA: over all questions (ALL), whole sequences (SEQ) and by position, as in its official script."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mate_cli.tables.table import Coordinate, Example

Answers = Mapping[str, Collection[Coordinate]]
"""Example id -> predicted cells, in any order."""


@dataclass(frozen=True, slots=True)
class SequenceScores:
    """Correct answers, bool.

    Attributes:
        questions: ``[questions]``, in the order of the examples (ALL).
        conversation: int64 ``[questions]``, number of its conversation, in order of appearance.
        sequences: ``[conversations]``, whether all its questions are correct (SEQ).
        by_position: position, from 0 -> correctness of its questions, in order.
    """

    questions: NDArray[np.bool_]
    conversation: NDArray[np.int64]
    sequences: NDArray[np.bool_]
    by_position: dict[int, NDArray[np.bool_]]


def sequence_scores(examples: Sequence[Example], answers: Answers) -> SequenceScores:
    """Compare predicted with gold cells: a correct answer has exactly the gold cells.

    Questions without an answer field are left out; one without a prediction is wrong.
    """
    answered = [example for example in examples if example.answers is not None]
    right = np.array([e.id in answers and set(answers[e.id]) == set(e.candidates) for e in answered], dtype=bool)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(e.conversation for e in answered))}
    conversation = np.array([numbers[example.conversation] for example in answered], dtype=np.int64)
    wrong = np.bincount(conversation[~right], minlength=len(numbers))
    position = np.array([example.position for example in answered], dtype=np.int64)
    by_position = {int(place): right[position == place] for place in np.unique(position)}
    return SequenceScores(right, conversation, wrong == 0, by_position)
