"""Accuracy of SQA's answers: of all questions, of whole sequences, by position (checklist 74, 120)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mate_cli.tables.table import Coordinate, Example

Answers = Mapping[str, Collection[Coordinate]]
"""Example id -> the chosen cells, in any order."""


@dataclass(frozen=True, slots=True)
class SequenceScores:
    """What is right, bool.

    Attributes:
        questions: ``[questions]``, in the order of the examples (ALL).
        conversation: of which conversation each is, numbered as they come, int64 ``[questions]``.
        sequences: whether all of a conversation is right, ``[conversations]`` (SEQ).
        by_position: position, from 0 -> its questions, in their order.
    """

    questions: NDArray[np.bool_]
    conversation: NDArray[np.int64]
    sequences: NDArray[np.bool_]
    by_position: dict[int, NDArray[np.bool_]]


def sequence_scores(examples: Sequence[Example], answers: Answers) -> SequenceScores:
    """Hold the chosen cells against the answer cells: right are all of them and no others, as the official script says.

    Questions without an answer field are left out; one that ``answers`` lacks is wrong.
    """
    answered = [example for example in examples if example.answers is not None]
    right = np.array([_is_right(example, answers) for example in answered], dtype=bool)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(e.conversation for e in answered))}
    conversation = np.array([numbers[example.conversation] for example in answered], dtype=np.int64)
    wrong = np.bincount(conversation[~right], minlength=len(numbers))
    position = np.array([example.position for example in answered], dtype=np.int64)
    by_position = {int(place): right[position == place] for place in np.unique(position)}
    return SequenceScores(right, conversation, wrong == 0, by_position)


def _is_right(example: Example, answers: Answers) -> bool:
    return example.id in answers and set(answers[example.id]) == set(example.candidates)
