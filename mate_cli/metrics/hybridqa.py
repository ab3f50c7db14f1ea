"""Exact match and F1 of HybridQA as in its official evaluation script (docs/notes.md, note 35)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mate_cli.metrics.cell_selection import SUBSETS
from mate_cli.tables.hybridqa import Gold

GROUPS = (SUBSETS["table"], SUBSETS["passage"], "Total")
"""The official groups; questions of the class Missing count only in the total."""

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Exact match (0 or 1) and F1 (0 to 1) of each question of a group, float64 ``[questions]``."""

    exact: NDArray[np.float64]
    f1: NDArray[np.float64]


def normalise_answer(text: str) -> str:
    """Lower the case, remove ASCII punctuation and articles, and put one space between words.

    Punctuation leaves no space: "10-15" becomes "1015", unlike in ``answer_match.normalise``, which finds candidates.
    """
    bare = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def exact_match(prediction: str, golds: Sequence[str]) -> int:
    """Return 1 if the prediction equals one of the golds after normalization, else 0."""
    normal = normalise_answer(prediction)
    return int(any(normal == normalise_answer(gold) for gold in golds))


def f1(prediction: str, golds: Sequence[str]) -> float:
    """Return the best F1 between the words of the prediction and of a gold, as multisets; 1 if both are empty."""
    words = normalise_answer(prediction).split()
    return max((_f1(words, normalise_answer(gold).split()) for gold in golds), default=0.0)


def answer_scores(gold: Mapping[str, Gold], predictions: Mapping[str, str]) -> dict[str, AnswerScores]:
    """Score every question with an answer field, by the ``GROUPS`` that are not empty, ``Total`` last.

    Within a group questions keep the order of ``gold``; other predictions are ignored.

    Raises:
        KeyError: a question has no prediction (use "" for no answer), as in the official script.
    """
    answers = {name: entry.answers for name, entry in gold.items() if entry.answers is not None}
    exact = np.array([exact_match(predictions[name], golds) for name, golds in answers.items()], float)
    overlap = np.array([f1(predictions[name], golds) for name, golds in answers.items()], float)
    group = np.array([SUBSETS.get(gold[name].subset, "") for name in answers], dtype=object)
    masks = {name: group == name for name in GROUPS[:-1]} | {"Total": np.ones(len(group), dtype=bool)}
    return {name: AnswerScores(exact[mask], overlap[mask]) for name, mask in masks.items() if mask.any()}


def _f1(words: list[str], gold: list[str]) -> float:
    if not words or not gold:
        return float(words == gold)
    shared = (Counter(words) & Counter(gold)).total()
    return 2 * shared / (len(words) + len(gold))
