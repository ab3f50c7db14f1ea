"""Accuracy of SQA: over all questions (ALL), whole sequences (SEQ) and by position, as in its official script."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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


def conversation_numbers(examples: Iterable[Example]) -> NDArray[np.int64]:
    """Return the number of the conversation of each question, int64, the groups of a ``bootstrap``.

    A question outside of conversations has a number of its own.
    """
    names = [(e.conversation, e.conversation or e.id) for e in examples]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def sequence_scores(examples: Sequence[Example], answers: Answers) -> SequenceScores:
    """Compare predicted with gold cells: a correct answer has exactly the gold cells.

    Questions without an answer field are left out; one without a prediction is wrong.
    """
    answered = [example for example in examples if example.answers is not None]
    right = np.array([e.id in answers and set(answers[e.id]) == set(e.candidates) for e in answered], dtype=bool)
    conversation = conversation_numbers(answered)
    wrong = np.bincount(conversation[~right], minlength=len(np.unique(conversation)))
    position = np.array([example.position for example in answered], dtype=np.int64)
    by_position = {int(place): right[position == place] for place in np.unique(position)}
    return SequenceScores(right, conversation, wrong == 0, by_position)
